import { PlatformError } from '../error-kinds.ts'
import type { PlatformContext } from '../platform.ts'
import { serverOf, TITLE, urlOf, type Server } from './servers.ts'

/** A DID document (W3C Decentralized Identifiers): the parts that atproto uses. */
export interface DidDocument {
  readonly id: string
  readonly alsoKnownAs?: readonly string[]
  readonly service?: readonly { readonly id: string; readonly type?: string; readonly serviceEndpoint?: unknown }[]
}

/** An account of the network (atproto.com/specs/did, /handle, 2026-11). */
export interface Identity {
  readonly did: string
  /** Null when the identity does not confirm the handle. */
  readonly handle: string | null
  readonly pds: Server
  readonly document: DidDocument
}

const DID = /^did:(?:plc:[a-z2-7]{24}|web:[a-z0-9.-]+(?:%3A\d+)?)$/i
const HANDLE = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/**
 * Resolves a handle or a DID to the account and its PDS.
 * @throws PlatformError validation when there is no such account
 */
export async function identityOf(context: PlatformContext, text: string): Promise<Identity> {
  const name = text.trim().replace(/^@/, '')
  const did = DID.test(name) ? name : await resolveHandle(context, name)
  if (did === undefined) throw unknown(`There is no account “${name.slice(0, 100)}”.`)
  const document = await documentOf(context, did)
  const service = document.service?.find(({ id }) => id === '#atproto_pds' || id === `${did}#atproto_pds`)
  if (document.id !== did || typeof service?.serviceEndpoint !== 'string') {
    throw unknown(`The account “${name.slice(0, 100)}” has no server.`)
  }
  const claimed = document.alsoKnownAs?.find((alias) => alias.startsWith('at://'))?.slice('at://'.length)
  return { did, document, handle: claimed ?? null, pds: serverOf(context.settings, service.serviceEndpoint) }
}

/** The DID of a handle; undefined when nobody has it. @throws PlatformError */
export async function resolveHandle(context: PlatformContext, handle: string): Promise<string | undefined> {
  const { http, settings, signal } = context
  if (!HANDLE.test(handle)) {
    throw unknown(`“${handle.slice(0, 100)}” is not a handle. Enter one such as anna.bsky.social.`)
  }
  const { json, status } = await http.send({
    url: `${settings.apiUrl}/xrpc/com.atproto.identity.resolveHandle`,
    query: { handle },
    expect: [400, 404],
    signal,
  })
  if (status === 200) return (json as { did: string }).did
  // The server may not know handles of other servers. Their owners publish the DID on the host itself.
  try {
    const reply = await http.send({
      url: `https://${handle}/.well-known/atproto-did`,
      userHost: true,
      maxBytes: 1_000,
      signal,
    })
    const did = reply.bytes.toString('utf8').trim()
    return DID.test(did) ? did : undefined
  } catch (error) {
    if (error instanceof PlatformError) return undefined
    throw error
  }
}

async function documentOf(context: PlatformContext, did: string): Promise<DidDocument> {
  const { http, settings, signal } = context
  const [, method, id = ''] = did.split(':')
  const { json, status } = await http.send({
    ...(method === 'plc'
      ? { url: `${urlOf(settings, 'plc')}/${did}` }
      : { url: `https://${decodeURIComponent(id)}/.well-known/did.json`, userHost: true }),
    expect: [404, 410],
    signal,
  })
  if (status !== 200 || typeof json !== 'object' || json === null) throw unknown(`${did} is unknown.`)
  return json as DidDocument
}

function unknown(detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { code: 'identity', detail, mayHaveHappened: false })
}
