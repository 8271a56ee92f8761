import { MediaWorkError } from '../errors.ts'
import type { TranscodeResult } from '../types.ts'
export async function transcode(..._args: unknown[]): Promise<TranscodeResult> {
  throw new MediaWorkError('unsupported', 'Not built.')
}
