import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import type { Clock } from '../core/clock.ts'
import { DiskStorage } from './disk.ts'
import type { Storage } from './storage.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly storage: Storage
  }
}

/** Describes where files are stored, for the startup banner. */
export function describeStorage(config: Config): string {
  if (config.S3_BUCKET === undefined) return join(config.DATA_DIR, 'storage')
  return `bucket ${config.S3_BUCKET} at ${config.S3_ENDPOINT ? new URL(config.S3_ENDPOINT).host : `AWS, ${config.S3_REGION}`}`
}

/** Opens the configured storage. The S3 SDK is loaded only for a bucket. */
export async function openStorage(config: Config, clock: Clock): Promise<Storage> {
  if (config.S3_BUCKET === undefined) return new DiskStorage({ directory: join(config.DATA_DIR, 'storage'), clock })
  const { S3Storage } = await import('./s3.ts')
  const { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = config
  return new S3Storage({
    bucket: config.S3_BUCKET,
    region: config.S3_REGION,
    pathStyle: config.S3_PATH_STYLE ?? config.S3_ENDPOINT !== undefined,
    ...(config.S3_ENDPOINT && { endpoint: config.S3_ENDPOINT }),
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey } }),
  })
}
