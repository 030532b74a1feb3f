import type { Copying, CopyRange } from '../workflow/copying.ts';
import type { Settings } from '../workflow/settings.ts';
import { copyRange, joinRanges, VOID } from './copy-range.ts';
import type { StoredFile } from './open.ts';
import { type Ends, fromState, openEnds, storedFile } from './open-ends.ts';
import type { Position } from './part-writer.ts';

/** The copy of one range of a file, into the upload that was created for all of them. */
export type CopyOneRange = (request: {
  readonly url: string;
  readonly key: string;
  readonly format: string;
  readonly copying: Pick<Copying, 'upload_id' | 'file'>;
  readonly range: CopyRange;
  readonly deadline: AbortSignal;
}) => Promise<Position | typeof VOID>;

export type JoinRanges = (request: {
  readonly key: string;
  readonly format: string;
  readonly copying: Copying;
}) => Promise<StoredFile | typeof VOID>;

export function openRanges(
  settings: Settings,
): { copyRange: CopyOneRange; joinRanges: JoinRanges } & Pick<Ends, 'abandon'> {
  const ends = openEnds(settings);
  const divided = ({ upload_id, file }: Pick<Copying, 'upload_id' | 'file'>) => ({
    uploadId: upload_id,
    file: fromState(file),
  });
  return {
    copyRange: ({ url, key, format, copying, range, deadline }) =>
      copyRange(divided(copying), range, {
        source: ends.source(url),
        destination: ends.destination(key),
        ...{ format, deadline },
      }),
    async joinRanges({ key, format, copying }) {
      const contentType = copying.file.content_type;
      const joining = { destination: ends.destination(key), format, contentType };
      const joined = await joinRanges(divided(copying), copying.ranges ?? [], joining);
      return joined === VOID ? VOID : storedFile(joined, { contentType, ...joined });
    },
    abandon: ends.abandon,
  };
}
