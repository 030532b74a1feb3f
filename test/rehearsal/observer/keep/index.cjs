const { randomUUID } = require('node:crypto');
const { S3 } = require('@aws-sdk/client-s3');

const s3 = new S3();

/** Keeps each call as an object: an event, a message of SNS, or a request to the function's URL. */
exports.handler = async (call) => {
  const Key = `${Date.now()}-${randomUUID()}.json`;
  await s3.putObject({ Bucket: process.env.BUCKET, Key, Body: JSON.stringify(call) });
  return { statusCode: 200 };
};
