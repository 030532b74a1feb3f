import { COPY_ENVIRONMENT } from '../../../infra/constructs/copy-environment.ts';

/** Copies `url` to the bucket at `endpoint`; resolves to the bytes it copied. */
export type Copy = (url: string, endpoint: string) => Promise<number>;

export interface Contender {
  readonly what: string;
  /** As the function that copies has it. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Each loads its own code alone, so that nobody's memory holds another's. */
  load(): Promise<Copy>;
}

const MiB = 1024 * 1024;

/** What runs in Node, each in a process of its own. */
export const contenders: Readonly<Record<string, Contender>> = {
  raw: {
    what: "undici's GET piped into undici's PUT: nothing is looked at, checked, or sent again",
    load: async () => (await import('./contenders/raw.ts')).raw,
  },
  ours: {
    what: 'as SaveReport copies: checked, resumed, its rows counted',
    environment: COPY_ENVIRONMENT,
    async load() {
      const { ours } = await import('./contenders/ours.ts');
      return (url, endpoint) => ours(url, endpoint, 'JSON');
    },
  },
  'ours-uncounted': {
    what: 'the same without a look into the JSON',
    environment: COPY_ENVIRONMENT,
    async load() {
      const { ours } = await import('./contenders/ours.ts');
      return (url, endpoint) => ours(url, endpoint, 'bytes');
    },
  },
  'lib-storage': {
    what: "Upload of @aws-sdk/lib-storage with its defaults, from undici's body",
    load: async () => (await import('./contenders/lib-storage.ts')).libStorage,
  },
  'lib-storage-tuned': {
    what: 'the same with two parts of 8 MiB and the settings of ours',
    environment: COPY_ENVIRONMENT,
    async load() {
      const { libStorage } = await import('./contenders/lib-storage.ts');
      return (url, endpoint) => libStorage(url, endpoint, { partSize: 8 * MiB, queueSize: 2 });
    },
  },
  'whole-body': {
    what: 'all of it in memory, then one PutObject',
    load: async () => (await import('./contenders/whole-body.ts')).wholeBody,
  },
};
