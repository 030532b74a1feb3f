import { randomUUID } from 'node:crypto';
import { GetObjectCommand, NoSuchKey, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { addressed } from '../../../../functions/aws/s3.ts';
import type { Report, Reports } from '../platform-state.ts';
import { createReportFile } from '../reporting/create-report-file.ts';
import { contentTypeOf, extensionOf, SECONDS_TO_READY } from '../reporting/reports.ts';
import type { ReportSettings } from '../sandbox-options.ts';

/**
 * Seconds for which a download_url is valid. The contract's 24 hours are out of reach: a URL ends with the
 * credentials of the role that signed it, and Lambda replaces them after some hours.
 */
export const URL_SECONDS = 3_600;

/** The object of a report, beside its file. Only this file writes and reads it. */
type StoredReport = Pick<Report, 'account' | 'request' | 'createdAt'>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface ReportBucket {
  readonly s3: S3Client;
  readonly bucket: string;
  /** The AWS account that has to own the bucket. */
  readonly owner: string;
}

/**
 * Keeps each report as two objects: its request with its time of creation, and its file. S3 serves the file
 * by a pre-signed URL, and a lifecycle rule removes both. When a report was polled is not kept.
 */
export function createReportBucket(
  { s3, bucket, owner }: ReportBucket,
  now: () => number,
  settings: ReportSettings = {},
): Reports {
  const at = (key: string) => addressed({ bucket, key, expectedBucketOwner: owner });
  const reportKey = (id: string) => `reports/${id}.json`;
  const fileKey = ({ id, request }: Pick<Report, 'id' | 'request'>) => `files/${id}.${extensionOf(request)}`;
  const put = async (key: string, Body: Buffer, ContentType: string) => {
    await s3.send(new PutObjectCommand({ ...at(key), Body, ContentType, ChecksumAlgorithm: 'CRC32' }));
  };
  return {
    async create({ account, request }) {
      const id = randomUUID();
      const createdAt = now();
      const file = Buffer.concat([...createReportFile(request, createdAt, settings).read()]);
      await put(fileKey({ id, request }), file, contentTypeOf(request));
      // Last: a report that can be found has its file.
      const stored: StoredReport = { account, request, createdAt };
      await put(reportKey(id), Buffer.from(JSON.stringify(stored)), 'application/json');
      return { id, account, request, createdAt, readyAt: readyAtOf(createdAt) };
    },
    async find(id) {
      if (!UUID.test(id)) return undefined;
      const text = await readText(s3, at(reportKey(id)));
      if (text === undefined) return undefined;
      const stored: StoredReport = JSON.parse(text);
      return { id, ...stored, readyAt: readyAtOf(stored.createdAt) };
    },
    previousPoll: () => undefined,
    createDownloadUrl(report) {
      const { Bucket, Key } = at(fileKey(report));
      // Without the owner, whose header whoever downloads would have to send.
      const signing = { expiresIn: URL_SECONDS, signingDate: new Date(now()) };
      return getSignedUrl(s3, new GetObjectCommand({ Bucket, Key }), signing);
    },
  };
}

function readyAtOf(createdAt: number): number {
  return createdAt + SECONDS_TO_READY * 1000;
}

async function readText(s3: S3Client, place: ReturnType<typeof addressed>): Promise<string | undefined> {
  try {
    const { Body } = await s3.send(new GetObjectCommand(place));
    return await Body?.transformToString();
  } catch (error) {
    if (error instanceof NoSuchKey) return undefined;
    throw error;
  }
}
