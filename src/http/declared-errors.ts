import type { ErrorDefinition } from '../core/error.ts'
import {
  ApiKeyLimited,
  BadRequest,
  CredentialExpired,
  DatabaseUnavailable,
  DeadlineExceeded,
  EmailUnverified,
  Forbidden,
  IdempotencyMismatch,
  IdempotencyRunning,
  InternalError,
  InvalidCredential,
  NotFound,
  OutcomeUnknown,
  Overloaded,
  PayloadTooLarge,
  RangeNotSatisfiable,
  RateLimited,
  RequestTimeout,
  SecondFactorNeeded,
  ServiceDisabled,
  ShuttingDown,
  TooManyUploads,
  Unauthorized,
  UnsupportedMediaType,
  ValidationFailed,
} from '../core/errors.ts'
import { ALWAYS_ON } from '../core/service-switch.ts'
import { returnsFile, type NamedOperation } from '../core/operation.ts'

/** The errors that the pipeline can return for an operation. OpenAPI lists them and the tests expect them. */
export function pipelineErrors(op: NamedOperation): ErrorDefinition[] {
  const errors: ErrorDefinition[] = [
    BadRequest,
    ValidationFailed,
    InternalError,
    Overloaded,
    ShuttingDown,
    DatabaseUnavailable,
  ]
  // Includes rate_limited for networks that sent many refused credentials, even if the operation has no limit.
  errors.push(InvalidCredential, CredentialExpired, RateLimited)
  if (op.access !== 'public') errors.push(Unauthorized)
  if (op.access !== 'public' && op.unconfirmed !== true) errors.push(EmailUnverified)
  if ((op.access === 'user' || op.access === 'admin') && !op.limitedKeys) errors.push(ApiKeyLimited)
  if (op.access !== 'public' && op.access !== 'user') errors.push(Forbidden)
  if (op.access.includes(':')) errors.push(SecondFactorNeeded)
  if (op.workspace !== undefined || op.path !== undefined) errors.push(NotFound)
  if (op.method !== 'GET') errors.push(PayloadTooLarge)
  if (op.method !== 'GET') errors.push(op.upload ? TooManyUploads : RequestTimeout)
  if ((op.body ?? op.upload) !== undefined) errors.push(UnsupportedMediaType)
  if (returnsFile(op)) errors.push(RangeNotSatisfiable)
  if (op.method === 'POST') errors.push(IdempotencyRunning, IdempotencyMismatch)
  if (!ALWAYS_ON.has(op.domain)) errors.push(ServiceDisabled)
  if (op.turn) errors.push(DeadlineExceeded, OutcomeUnknown)
  return errors
}
