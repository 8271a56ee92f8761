import { PlatformError } from '../error-kinds.ts'
import type { PlatformReply, PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'

export const TITLE = 'LinkedIn'

/** The version of the API. LinkedIn ends each about a year after its month (learn.microsoft.com, Versioning, 2026-11). */
const VERSION = '202610'

interface CallOptions extends Omit<PlatformRequest, 'url'> {
  /** The method of Rest.li, where the HTTP method does not imply it. */
  readonly restli?: 'FINDER' | 'BATCH_GET' | 'PARTIAL_UPDATE' | 'DELETE'
}

/**
 * Calls the API.
 * @param path with its query: Rest.li reads lists like `List(1,2)` whose punctuation is not encoded
 * @throws PlatformError
 */
export function call(
  { credential, http, settings, signal }: AccountContext,
  path: string,
  { restli, ...options }: CallOptions = {},
): Promise<PlatformReply> {
  if (credential.accessToken === undefined) throw new PlatformError('auth_expired', TITLE)
  return http.send({
    ...options,
    url: `${settings.apiUrl}${path}`,
    headers: {
      Authorization: `Bearer ${credential.accessToken}`,
      'LinkedIn-Version': VERSION,
      'X-Restli-Protocol-Version': '2.0.0',
      ...(restli !== undefined && { 'X-RestLi-Method': restli }),
      ...options.headers,
    },
    signal,
  })
}

/** The header with the id of what was created. */
export function createdId({ headers }: PlatformReply): string {
  const id = headers['x-restli-id'] ?? headers['x-linkedin-id']
  if (typeof id === 'string' && id !== '') return id
  throw new PlatformError('unknown', TITLE, { code: 'no_id', detail: 'the reply has no x-restli-id' })
}

export function isOrganization(remoteId: string): boolean {
  return remoteId.startsWith('urn:li:organization:')
}

/** A URN in a path or query. */
export const encoded = encodeURIComponent
