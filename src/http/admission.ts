import type { Caller, Member } from '../core/caller.ts'
import { networkOf } from '../core/client-address.ts'
import {
  ApiKeyLimited,
  EmailUnverified,
  Forbidden,
  InvalidCredential,
  NotFound,
  RateLimited,
  Unauthorized,
} from '../core/errors.ts'
import { isLimited, withinKey } from '../core/key-limits.ts'
import { limitClassOf, RATE_LIMITS } from '../core/limits.ts'
import type { NamedOperation, WorkspaceSource } from '../core/operation.ts'
import type { Authenticator, Memberships, Owners, RateDecision, RateLimiter, Tickets } from '../core/ports.ts'
import { requireScope } from '../core/require-scope.ts'
import { claimsSignature, type SignedLinks } from '../core/signed-links.ts'
import type { Exchange } from './exchange.ts'
import type { Input, Passage } from './passage.ts'

/** What knows credentials. */
export interface Credentials {
  readonly authenticator: Authenticator
  readonly tickets: Tickets
}

/** Who the credential of a request belongs to; undefined without one where none is needed. @throws AppError 401 */
export function identify(
  op: NamedOperation,
  { authenticator, tickets }: Credentials,
  exchange: Exchange,
): Caller | undefined | Promise<Caller> {
  if (op.bearer === 'own') return undefined
  const { authorization, apiKey } = exchange.headers
  if (authorization !== '') {
    const match = /^Bearer +([\w.~+/=-]+)$/i.exec(authorization)
    if (match?.[1]) return authenticator.authenticate({ kind: 'token', token: match[1] })
    throw InvalidCredential({ message: 'Authorization must be `Bearer <access token>`.' })
  }
  if (apiKey !== '') return authenticator.authenticate({ kind: 'api_key', key: apiKey })
  const ticket = op.ticket === undefined ? null : new URLSearchParams(exchange.query).get(op.ticket)
  if (ticket !== null) return tickets.redeem(op.name, ticket)
  if (op.access !== 'public') throw Unauthorized()
  return undefined
}

/** Whether a request comes with a signed URL instead of a credential. */
export function bringsLink({ headers, query }: Exchange): boolean {
  return headers.authorization === '' && headers.apiKey === '' && claimsSignature(query)
}

/** @returns true @throws AppError invalid_credential, credential_expired */
export function followLink(
  op: NamedOperation,
  links: SignedLinks,
  { query }: Exchange,
  parameters: readonly string[],
): true {
  let index = 0
  links.require(
    op.pattern.replace(/\{\w+\}/g, () => parameters[index++] ?? ''),
    query,
  )
  return true
}

/**
 * Takes a token of the caller's bucket and notes what is left.
 * @returns a promise only where the bucket is not in memory @throws AppError rate_limited
 */
export function takeToken(op: NamedOperation, limiter: RateLimiter, passage: Passage): void | Promise<void> {
  const limit = limitClassOf(op)
  if (limit === 'none') return
  const perCaller = RATE_LIMITS[limit].per === 'caller' ? passage.caller?.userId : undefined
  const taken = limiter.take(limit, perCaller ?? networkOf(passage.exchange.remoteAddress))
  if (taken instanceof Promise) return taken.then((rate) => noteRate(limit, passage, rate))
  noteRate(limit, passage, taken)
}

function noteRate(limit: string, passage: Passage, rate: RateDecision): void {
  passage.rate = rate
  if (!rate.allowed) {
    throw RateLimited({
      retryAfter: Math.max(1, rate.resetSeconds),
      message: `More than ${rate.limit} ${limit} requests in ${rate.windowSeconds} seconds. Wait ${Math.max(1, rate.resetSeconds)} s.`,
    })
  }
}

/** Whom an operation may be refused to beyond its credential, and the workspace it is about. */
export interface Gate {
  readonly memberships: Memberships
  readonly owners: Owners
}

/**
 * The caller as a member of the operation's workspace, where it names one.
 * @returns a promise only where something must be read
 * @throws AppError email_unverified; api_key_limited; not_found for a stranger, exactly as for a workspace that does not exist;
 *   forbidden without the scope
 */
export function admit(
  op: NamedOperation,
  gate: Gate,
  passage: Passage,
  data: Input,
): Member | undefined | Promise<Member | undefined> {
  if (op.access !== 'public' && op.unconfirmed !== true && passage.caller?.emailVerified === false) {
    throw EmailUnverified()
  }
  if (passage.caller && !op.limitedKeys && isAccountWide(op) && isLimited(passage.caller)) throw ApiKeyLimited()
  if (op.access === 'admin' && !passage.caller?.isAdmin) {
    throw Forbidden({ message: 'Only a platform administrator may do this.' })
  }
  // Workers sign their requests; until there are any, nobody is one.
  if (op.access === 'internal') throw Forbidden()
  if (op.workspace === undefined) return undefined
  const found = findWorkspace(op.workspace, gate.owners, data, passage.caller?.userId)
  return found instanceof Promise
    ? found.then((workspaceId) => admitTo(op, gate, passage, workspaceId))
    : admitTo(op, gate, passage, found)
}

/** Whether an operation asks for the caller alone, not for a scope in a workspace. */
function isAccountWide({ access }: NamedOperation): boolean {
  return access === 'user' || access === 'admin'
}

function admitTo(
  op: NamedOperation,
  gate: Gate,
  passage: Passage,
  workspaceId: string | undefined,
): Member | undefined | Promise<Member> {
  if (workspaceId === undefined) throw NotFound()
  passage.workspaceId = workspaceId
  if (!op.access.includes(':') || passage.linked) return undefined
  const member = gate.memberships.find(workspaceId, passage.caller?.userId ?? '')
  return member instanceof Promise
    ? member.then((read) => withScope(op, withinKey(read, passage.caller)))
    : withScope(op, withinKey(member, passage.caller))
}

function withScope(op: NamedOperation, member: Member | undefined): Member {
  if (member === undefined) throw NotFound()
  requireScope(member, op.access)
  return member
}

function findWorkspace(
  source: WorkspaceSource,
  owners: Owners,
  data: Input,
  userId: string | undefined,
): string | undefined | Promise<string | undefined> {
  if (source.in === 'owner' || source.in === 'lookup') {
    const value = (data.path as Record<string, string>)[source.field] ?? ''
    return source.in === 'owner' ? owners.workspaceOf(source.table, value) : owners.lookup(source.name, value, userId)
  }
  return (data[source.in] as Record<string, string | undefined> | undefined)?.[source.field]
}
