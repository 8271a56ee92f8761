import type { OutgoingFault } from '../../../../fetch/outgoing.ts'
import { ProviderError } from './provider.ts'

/** Who has configured a provider. */
export type ProviderOwner = 'server' | 'workspace'

const WHO_CHECKS: Readonly<Record<ProviderOwner, string>> = {
  server: 'The AI provider refused the key of this server. Its administrator must check `AI_API_KEY`.',
  workspace: 'The AI provider refused the key of the workspace. Enter another key in the AI provider of the workspace.',
}

/** The largest reply that is read. The texts of one request have a fraction of it. */
export const MAX_REPLY_BYTES = 2_000_000
/** How long a provider may pause within a reply. */
export const MAX_PAUSE_MS = 30_000

/** The error of a request without a whole reply. What a provider does each time is not worth another request. */
export function connectionFault(fault: OutgoingFault | undefined, cause: unknown): ProviderError {
  if (fault === 'too_large') {
    return new ProviderError('The AI provider sent a reply that is too large to be a text.', false, cause)
  }
  if (fault === 'stalled') {
    const seconds = MAX_PAUSE_MS / 1_000
    return new ProviderError(`The AI provider stopped in the middle of its reply for ${seconds} seconds.`, false, cause)
  }
  if (fault === 'refused') {
    return new ProviderError('The address of the AI provider is not public, so it is not used.', false, cause)
  }
  const message =
    fault === 'timeout' ? 'The AI provider did not reply in time.' : 'The AI provider could not be reached.'
  return new ProviderError(message, true, cause)
}

/** The error of a web page where JSON was expected: the address is that of a site, a proxy or a sign-in page. */
export function pageFault(cause?: unknown): ProviderError {
  const message =
    'The AI provider sent a web page instead of JSON. Check the address of its API, which often ends in /v1.'
  return new ProviderError(message, false, cause)
}

/** Whether a reply is a web page. */
export function isPage(contentType: string, beginning = ''): boolean {
  return /^\s*text\/html/i.test(contentType) || /^\s*<(?:!doctype|html|head|body)/i.test(beginning)
}

/** What a status other than success means. */
export function statusFault(status: number | undefined, owner: ProviderOwner, cause?: unknown): ProviderError {
  if (status === 429) return new ProviderError('The AI provider has too many requests. Try again later.', true, cause)
  if (status === undefined || status >= 500) {
    return new ProviderError('The AI provider could not be reached, or has a fault.', true, cause)
  }
  if (status === 401 || status === 403) {
    return new ProviderError(WHO_CHECKS[owner], false, cause)
  }
  // A reply with status 200 whose envelope is broken: cut off, or no JSON. The next one may be whole.
  if (status < 300) return new ProviderError('The AI provider sent a broken reply.', true, cause)
  return new ProviderError(`The AI provider refused the request with status ${status}.`, false, cause)
}
