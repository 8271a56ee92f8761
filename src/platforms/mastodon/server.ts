import { PlatformError } from '../error-kinds.ts'
import type { PlatformContext } from '../platform.ts'

const TITLE = 'Mastodon'

const SCHEMA_OF_NODEINFO = /^https?:\/\/nodeinfo\.diaspora\.software\/ns\/schema\/2\.\d$/

/** A server of the network. */
export interface MastodonServer {
  /** Base URL without a trailing slash. */
  readonly url: string
  /** Whether a user entered it. Only public addresses are allowed then. */
  readonly userHost: boolean
}

/**
 * The server that a user means: `mastodon.social`, `https://mastodon.social/@name` or `@name@mastodon.social`.
 * @throws PlatformError validation when it is not a host
 */
export function serverOf({ settings }: Pick<PlatformContext, 'settings'>, text: string): MastodonServer {
  const host = text.trim().replace(/^@?[^@/]+@/, '')
  const url = URL.parse(/^https?:\/\//i.test(host) ? host : `https://${host}`)
  const configured = URL.parse(settings.apiUrl)
  if (url !== null && configured !== null && url.host === configured.host) {
    return { url: configured.origin, userHost: false }
  }
  if (url === null || url.hostname === '' || (!url.hostname.includes('.') && !url.port)) {
    throw new PlatformError('validation', TITLE, {
      code: 'instance',
      detail: `“${text.slice(0, 100)}” is not a server. Enter one such as mastodon.social.`,
      mayHaveHappened: false,
    })
  }
  return { url: url.origin, userHost: true }
}

interface NodeInfoLinks {
  readonly links?: readonly { readonly rel?: string; readonly href?: string }[]
}

interface NodeInfo {
  readonly software?: { readonly name?: string }
}

/**
 * The software of a server, such as `mastodon` or `pixelfed`, in lower case (nodeinfo.diaspora.software, 2026-11).
 * @returns undefined if the server does not say, or does not answer
 */
export async function softwareOf(
  { http, signal }: Pick<PlatformContext, 'http' | 'signal'>,
  { url, userHost }: MastodonServer,
): Promise<string | undefined> {
  try {
    const { json } = await http.send({ url: `${url}/.well-known/nodeinfo`, userHost, signal })
    const { links } = (json ?? {}) as NodeInfoLinks
    const link = Array.isArray(links) ? links.findLast(({ rel = '' }) => SCHEMA_OF_NODEINFO.test(rel)) : undefined
    const document = URL.parse(link?.href ?? '')
    // Only the server itself speaks for its software.
    if (document === null || document.host !== new URL(url).host) return undefined
    const found = (await http.send({ url: `${url}${document.pathname}`, userHost, signal })).json as NodeInfo | null
    const name: unknown = found?.software?.name
    return typeof name === 'string' ? name.toLowerCase() : undefined
  } catch (error) {
    if (error instanceof PlatformError) return undefined
    throw error
  }
}
