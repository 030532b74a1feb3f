/** Copies `url` to the bucket at `endpoint`; resolves to the bytes it copied. */
export type Contender = (url: string, endpoint: string) => Promise<number>;

const MiB = 1024 * 1024;

/** Each loads its own code alone, so that nobody's memory holds another's. */
export const contenders: Readonly<Record<string, () => Promise<Contender>>> = {
  raw: async () => (await import('./contenders/raw.ts')).raw,
  ours: async () => {
    const { ours } = await import('./contenders/ours.ts');
    return (url, endpoint) => ours(url, endpoint, 'JSON');
  },
  'ours, rows not counted': async () => {
    const { ours } = await import('./contenders/ours.ts');
    return (url, endpoint) => ours(url, endpoint, 'bytes');
  },
  'lib-storage': async () => (await import('./contenders/lib-storage.ts')).libStorage,
  'lib-storage, tuned as ours': async () => {
    const { libStorage } = await import('./contenders/lib-storage.ts');
    return (url, endpoint) => libStorage(url, endpoint, { partSize: 8 * MiB, queueSize: 2 });
  },
  'whole body': async () => (await import('./contenders/whole-body.ts')).wholeBody,
};
