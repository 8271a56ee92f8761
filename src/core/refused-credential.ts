import { networkOf } from '../tools/network-address.ts'
import { AppError } from './error.ts'
import { InvalidCredential, RateLimited } from './errors.ts'
import type { RateDecision, RateLimiter } from './ports.ts'

/**
 * Counts a refused credential against the network of the client. Valid credentials are never delayed: tokens and keys
 * have 256 bits, so they cannot be guessed, and a network that sends wrong ones may also have legitimate users.
 * @throws AppError the refusal itself, or rate_limited after too many refusals; any other error unchanged
 */
export function refuseCredential(limiter: RateLimiter, address: string, error: unknown): Promise<never> {
  if (!(error instanceof AppError) || error.code !== InvalidCredential.code) throw error
  const taken = limiter.take('credential', networkOf(address))
  if (taken instanceof Promise) return taken.then((rate) => refuse(rate, error))
  return refuse(taken, error)
}

function refuse({ allowed, limit, resetSeconds, windowSeconds }: RateDecision, error: AppError): never {
  if (allowed) throw error
  const retryAfter = Math.max(1, resetSeconds)
  throw RateLimited({
    retryAfter,
    message: `More than ${limit} refused credentials in ${windowSeconds} seconds from your network. Wait ${retryAfter} s, or send a valid one.`,
  })
}
