import { requireOn } from '../core/service-switch.ts'
import type { PipelineOptions } from './pipeline.ts'
import type { RequestState } from './request-state.ts'

/**
 * Step: refuses requests to a service that an administrator has switched off.
 * @throws AppError service_disabled
 */
export function requireSwitchedOn({ compiled }: RequestState, { switches }: PipelineOptions): void {
  requireOn(switches, compiled.op.domain)
}
