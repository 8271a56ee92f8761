import { ProviderError } from './provider.ts'

/** What a status other than success means. */
export function statusFault(status: number | undefined, cause?: unknown): ProviderError {
  if (status === 429) return new ProviderError('The AI provider has too many requests. Try again later.', true, cause)
  if (status === undefined || status >= 500) {
    return new ProviderError('The AI provider could not be reached, or has a fault.', true, cause)
  }
  if (status === 401 || status === 403) {
    const message = 'The AI provider refused the key of this server. Its administrator must check `AI_API_KEY`.'
    return new ProviderError(message, false, cause)
  }
  // A reply with status 200 whose envelope is broken: cut off, or no JSON. The next one may be whole.
  if (status < 300) return new ProviderError('The AI provider sent a broken reply.', true, cause)
  return new ProviderError(`The AI provider refused the request with status ${status}.`, false, cause)
}
