import { MediaWorkError } from '../errors.ts'
import type { PreviewResult } from '../types.ts'
export async function preview(..._args: unknown[]): Promise<PreviewResult> {
  throw new MediaWorkError('unsupported', 'Not built.')
}
