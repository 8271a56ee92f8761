import type { MediaNodeOptions, PublishDecision, PublishRequest } from '../types.ts'

/**
 * Asks the host whether a publisher may publish. On an error or a timeout the publisher is refused and asked to
 * retry, and `onFailure` is called with the error.
 */
export async function authorize(
  ask: MediaNodeOptions['authorizePublish'],
  request: PublishRequest,
  timeoutMs: number,
  onFailure: (error: Error) => void,
): Promise<PublishDecision> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the check timed out')), timeoutMs)
  })
  try {
    return await Promise.race([ask(request), timeout])
  } catch (error) {
    onFailure(error as Error)
    return { allowed: false, reason: 'The stream key could not be checked. Try again.' }
  } finally {
    clearTimeout(timer)
  }
}
