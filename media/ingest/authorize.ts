import type { MediaNodeOptions, PublishDecision, PublishRequest } from '../types.ts'

/**
 * Asks the host, for a time. An error and silence are decisions too: a publisher that cannot be checked is refused,
 * and told to try again; `onFailure` learns why.
 */
export async function authorize(
  ask: MediaNodeOptions['authorizePublish'],
  request: PublishRequest,
  timeoutMs: number,
  onFailure: (error: Error) => void,
): Promise<PublishDecision> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), timeoutMs)
  })
  try {
    return await Promise.race([ask(request), timeout])
  } catch (error) {
    onFailure(error as Error)
    return { allowed: false, reason: 'The stream key could not be checked; try again.' }
  } finally {
    clearTimeout(timer)
  }
}
