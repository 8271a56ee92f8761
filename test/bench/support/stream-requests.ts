import type { Load } from './wrk.ts'

/** The requests for streams of a workspace, to Crier and to the handwritten baseline. */
export interface StreamTarget {
  readonly url: string
  readonly apiKey: string
  readonly workspaceId: string
}

type Request = Omit<Load, 'connections' | 'seconds'>

/** Fields of a new stream whose values differ between servers. */
export const VARYING = [
  '_id',
  'streamKey',
  'backupStreamKey',
  'statusSince',
  'streamKeyExpiresAt',
  'createdAt',
  'updatedAt',
]

export function listRequest({ apiKey, url, workspaceId }: StreamTarget): Request {
  return { url: `${url}/api/streams?workspaceId=${workspaceId}&limit=20`, headers: { 'X-API-Key': apiKey } }
}

export function createRequest({ apiKey, url, workspaceId }: StreamTarget): Request {
  const body = { workspaceId, title: 'Friday show', description: 'Every Friday at eight', platforms: [] }
  return {
    url: `${url}/api/streams`,
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
  }
}
