import { PlatformError } from '../error-kinds.ts'
import { isSameText } from '../fingerprint.ts'

/** Clock tolerance in milliseconds: Meta's time of a call can be this much earlier than ours. */
const CLOCK_SKEW_MS = 120_000

interface Sent {
  readonly text: string
  readonly createdAt: number
}

/** Whether an object that Meta lists can be the one that was sent. */
export function isSent({ createdAt, text }: Sent, returned: string, time: string): boolean {
  if (timeOf(time) < createdAt - CLOCK_SKEW_MS) return false
  // Texts of links and punctuation alone have an empty fingerprint; Meta returns them as they were sent.
  return isSameText(text, '') ? text.trim() === returned.trim() : isSameText(text, returned)
}

/** Graph writes offsets as `+0000`, without a colon. */
function timeOf(text: string): number {
  return Date.parse(text.replace(/([+-]\d\d)(\d\d)$/, '$1:$2'))
}

/** Deletes an object. One that does not exist counts as deleted. @throws PlatformError */
export async function ignoreMissing(deletion: Promise<unknown>): Promise<void> {
  try {
    await deletion
  } catch (error) {
    // Subcode 33: the object does not exist. 24: a media object of Threads does not.
    const isGone = error instanceof PlatformError && /^(?:100\/33|24(?:\/\d+)?)$/.test(error.code ?? '')
    if (!isGone) throw error
  }
}
