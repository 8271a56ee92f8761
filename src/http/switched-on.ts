import { ServiceDisabled } from '../core/errors.ts'
import { ALWAYS_ON } from './declared-errors.ts'
import type { PipelineOptions } from './pipeline.ts'
import type { RequestState } from './request-state.ts'

/**
 * Step: refuses requests to a service that an administrator has switched off.
 * @throws AppError service_disabled
 */
export function requireSwitchedOn({ compiled }: RequestState, { switches }: PipelineOptions): void {
  const { domain } = compiled.op
  if (ALWAYS_ON.has(domain) || switches.isOn(domain)) return
  throw ServiceDisabled({ message: `The service ${domain} is currently switched off.`, retryAfter: 30 })
}
