import { networkOf } from './client-address.ts'
import { AppError } from './error.ts'
import { InvalidCredential, RateLimited } from './errors.ts'
import type { RateDecision, RateLimiter } from './ports.ts'

/**
 * Counts a credential that was refused against the network it came from. Only refusals are held back: tokens and keys
 * have 256 bits, so nobody guesses one, and a network that is full of wrong ones may be its owner's too.
 * @throws AppError the refusal itself; rate_limited in its place when there were too many; any other error as it is
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
    message: `More than ${limit} refused credentials in ${windowSeconds} seconds from your network. Wait ${retryAfter} s, or send a good one.`,
  })
}
