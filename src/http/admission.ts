import type { Caller, Member } from '../core/caller.ts'
import { networkOf } from '../tools/network-address.ts'
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
import type { Owners, RateDecision } from '../core/ports.ts'
import { requireScope } from '../core/require-scope.ts'
import { refuseCredential } from '../core/refused-credential.ts'
import { claimsSignature } from '../core/signed-links.ts'
import type { Exchange } from './exchange.ts'
import type { PipelineOptions } from './pipeline.ts'
import type { RequestState } from './request-state.ts'

async function admitWorker(state: RequestState, options: PipelineOptions): Promise<void> {
  const { compiled, exchange } = state
  state.worker = await options.workers.admit(compiled.op.route as string, exchange.headers.authorization)
}

/**
 * Step: identifies the caller by the credential, or checks the signature of a worker or the signed URL that replaces one.
 * @throws AppError unauthorized, invalid_credential, credential_expired; rate_limited after too many refused
 * credentials
 */
export function authenticate(state: RequestState, options: PipelineOptions): void | Promise<void> {
  const { compiled, exchange } = state
  if (compiled.op.link && bringsLink(exchange)) {
    followLink(state, options)
    return
  }
  const download = downloadToken(state)
  if (download !== undefined) return followDownload(state, options, download)
  const { authorization } = exchange.headers
  if (compiled.op.access === 'internal' && authorization.startsWith(`${options.workers.scheme} `)) {
    return admitWorker(state, options)
  }
  const refused = (error: unknown) => refuseCredential(options.limiter, exchange.remoteAddress, error)
  let caller: Caller | undefined | Promise<Caller>
  try {
    caller = identify(compiled.op, options, exchange)
  } catch (error) {
    return refused(error)
  }
  if (!(caller instanceof Promise)) return setCaller(state, options, caller)
  return caller.then((found) => setCaller(state, options, found), refused)
}

function setCaller(state: RequestState, { authenticator }: PipelineOptions, caller: Caller | undefined): void {
  state.caller = caller
  if (caller?.apiKey) authenticator.used(caller, () => state.remoteAddress)
}

/**
 * The owner of the request's credential; undefined if there is none and none is required.
 * @throws AppError 401
 */
function identify(
  op: NamedOperation,
  { authenticator, tickets }: PipelineOptions,
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

/** The token of a download link, which is the last parameter of the query. */
function downloadToken({ compiled, exchange: { headers, http, query } }: RequestState): string | undefined {
  if (!compiled.isDownload || headers.authorization !== '' || headers.apiKey !== '') return undefined
  // HEAD changes nothing, so it cannot use a link up.
  return http?.headOnly === true ? undefined : DOWNLOAD.exec(query)?.[1]
}

const DOWNLOAD = /(?:^|&)download=([\w-]{20,100})$/

async function followDownload(state: RequestState, options: PipelineOptions, token: string): Promise<void> {
  const { compiled, exchange, parameters } = state
  let index = 0
  const path = compiled.op.pattern.replace(/\{\w+\}/g, () => parameters[index++] ?? '')
  state.queryText = exchange.query.replace(DOWNLOAD, '')
  state.downloads = true
  try {
    setCaller(state, options, await options.downloads.redeem(path, state.queryText, token))
  } catch (error) {
    await refuseCredential(options.limiter, exchange.remoteAddress, error)
  }
}

/** Whether a request has a signed URL instead of a credential. */
function bringsLink({ headers, query }: Exchange): boolean {
  return headers.authorization === '' && headers.apiKey === '' && claimsSignature(query)
}

/** @throws AppError invalid_credential, credential_expired */
function followLink(state: RequestState, { links }: PipelineOptions): void {
  const { compiled, exchange, parameters } = state
  let index = 0
  links.require(
    compiled.op.pattern.replace(/\{\w+\}/g, () => parameters[index++] ?? ''),
    exchange.query,
  )
  state.linked = true
}

/**
 * Step: takes a token from the caller's bucket.
 * @throws AppError rate_limited
 */
export function limitRate(state: RequestState, { limiter }: PipelineOptions): void | Promise<void> {
  const limit = limitClassOf(state.compiled.op)
  if (limit === 'none') return
  const perCaller = RATE_LIMITS[limit].per === 'caller' ? state.caller?.userId : undefined
  const taken = limiter.take(limit, perCaller ?? networkOf(state.remoteAddress))
  if (taken instanceof Promise) return taken.then((rate) => requireToken(limit, state, rate))
  requireToken(limit, state, taken)
}

function requireToken(limit: string, state: RequestState, rate: RateDecision): void {
  state.rate = rate
  if (!rate.allowed) {
    throw RateLimited({
      retryAfter: Math.max(1, rate.resetSeconds),
      message: `More than ${rate.limit} ${limit} requests in ${rate.windowSeconds} seconds. Wait ${Math.max(1, rate.resetSeconds)} s.`,
    })
  }
}

/**
 * Step: finds the workspace and the caller's membership of it, and checks the caller's permissions.
 * @throws AppError email_unverified; api_key_limited; not_found for non-members, exactly as for a workspace that does
 * not exist; forbidden without the scope
 */
export function authorize(state: RequestState, options: PipelineOptions): void | Promise<void> {
  const { caller, compiled } = state
  const { op } = compiled
  if (op.access !== 'public' && op.unconfirmed !== true && caller?.emailVerified === false) throw EmailUnverified()
  if (caller && !op.limitedKeys && isAccountWide(op) && isLimited(caller)) throw ApiKeyLimited()
  if (op.access === 'admin' && !caller?.isAdmin) {
    throw Forbidden({
      message: 'Only a platform administrator can do this. Send the access token or API key of an administrator.',
    })
  }
  if (op.access === 'internal' && state.worker === undefined) {
    throw Forbidden({
      message: 'Only workers of this installation can do this. Sign the request with its CLUSTER_SECRET.',
    })
  }
  if (op.workspace === undefined) return
  const found = findWorkspace(op.workspace, options.owners, state)
  return found instanceof Promise
    ? found.then((workspaceId) => authorizeIn(state, options, workspaceId))
    : authorizeIn(state, options, found)
}

/** Whether an operation only requires a caller, not a scope in a workspace. */
function isAccountWide({ access }: NamedOperation): boolean {
  return access === 'user' || access === 'admin'
}

function authorizeIn(
  state: RequestState,
  { memberships }: PipelineOptions,
  workspaceId: string | undefined,
): void | Promise<void> {
  if (workspaceId === undefined) throw NotFound()
  state.workspaceId = workspaceId
  if (!state.compiled.op.access.includes(':') || state.linked) return
  const member = memberships.find(workspaceId, state.caller?.userId ?? '')
  if (member instanceof Promise) return member.then((read) => setMember(state, read))
  setMember(state, member)
}

function setMember(state: RequestState, found: Member | undefined): void {
  const member = withinKey(found, state.caller)
  if (member === undefined) throw NotFound()
  requireScope(member, state.compiled.op.access)
  state.member = member
}

function findWorkspace(
  source: WorkspaceSource,
  owners: Owners,
  state: RequestState,
): string | undefined | Promise<string | undefined> {
  if (source.in === 'owner' || source.in === 'lookup') {
    const value = (state.path as Record<string, string>)[source.field] ?? ''
    return source.in === 'owner'
      ? owners.workspaceOf(source.resource, value)
      : owners.lookup(source.name, value, state.caller?.userId)
  }
  return (state[source.in] as Record<string, string | undefined> | undefined)?.[source.field]
}
