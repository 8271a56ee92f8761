import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import { freeLoopbackPort } from '../../src/setup/free-port.ts'

/** A local S3 bucket. */
export interface Bucket {
  readonly url: string
  /** The settings of a node that stores its files in it. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export async function startBucket(name = 'crier'): Promise<Bucket> {
  const directory = await mkdtemp(join(tmpdir(), 'crier-s3-'))
  const server = new S3rver({
    address: '127.0.0.1',
    port: await freeLoopbackPort(),
    silent: true,
    directory,
    configureBuckets: [{ name, configs: [] }],
  })
  const { port } = await server.run()
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    env: { S3_BUCKET: name, S3_ENDPOINT: url, S3_ACCESS_KEY_ID: 'S3RVER', S3_SECRET_ACCESS_KEY: 'S3RVER' },
    stop: async () => {
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
