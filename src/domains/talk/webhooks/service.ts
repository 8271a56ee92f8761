import type { Member } from '../../../core/caller.ts'
import { Conflict, NotFound, ValidationFailed } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../core/page.ts'
import { requireVersion, type IfMatch } from '../../../core/precondition.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { SealedBox } from '../../../tools/sealed-box.ts'
import type { Turn } from '../../../core/turn.ts'
import { AppError } from '../../../core/error.ts'
import { SECOND } from '../../../core/clock.ts'
import { checkUrl, type TargetRules } from '../../../fetch/target.ts'
import type { Foundation } from '../../../foundation.ts'
import type { PlanService } from '../../money/plans/index.ts'
import { webhookCreated, webhookDeleted, webhookUpdated } from './events.ts'
import { notifyDisabled } from './notices.ts'
import { checkPatterns } from './patterns.ts'
import { newSecret } from './signatures.ts'
import type { DisabledReason } from './states.ts'
import { webhookDeliveries, webhooks, type WebhookRow } from './tables.ts'
import type { ChangedWebhookData, NewWebhookData, WebhookChangeData, WebhookData } from './schemas.ts'
import type { Wakes } from './wakes.ts'

/** The most webhooks of a workspace, whatever its plan allows. */
const MAX = 100
/** How long a replaced secret stays valid, in seconds, unless the request says otherwise. */
export const KEEP_SECONDS = 86_400

interface Parts {
  readonly plans: PlanService
  readonly secrets: SealedBox
  readonly rules: TargetRules
  readonly wakes: Wakes
}

/** The webhooks of workspaces. Secrets are stored encrypted and shown once. */
export class WebhookService {
  readonly #foundation: Pick<Foundation, 'clock' | 'database' | 'declared' | 'logs'>
  readonly #parts: Parts

  constructor(foundation: Pick<Foundation, 'clock' | 'database' | 'declared' | 'logs'>, parts: Parts) {
    this.#foundation = foundation
    this.#parts = parts
  }

  /** @throws AppError plan_limit_reached, conflict, validation_failed, url_refused */
  async create(turn: Turn, member: Member, body: NewWebhookData): Promise<WebhookData & { secret: string }> {
    this.#check(body)
    const { clock, logs } = this.#foundation
    const { plans, secrets } = this.#parts
    const count = await webhooks.count(turn.sql, { workspaceId: turn.workspaceId })
    await plans.requireRoom(turn.workspaceId, 'webhooks', count)
    if (count >= MAX)
      throw Conflict({
        message: `A workspace can have at most ${MAX} webhooks; this one has ${count}. Delete one first.`,
      })
    const now = clock.now()
    const at = new Date(now).toISOString()
    const secret = newSecret()
    const row: WebhookRow = {
      id: uuidv7(now),
      workspaceId: turn.workspaceId,
      url: body.url,
      description: body.description ?? '',
      events: [...body.events],
      ordered: body.ordered ?? true,
      status: 'enabled',
      disabledReason: null,
      secretSealed: secrets.seal(secret),
      previousSecretSealed: null,
      previousSecretUntil: null,
      createdBy: member.userId,
      ...readerOf(member),
      version: 1,
      cursor: await logs.newestEvent(turn.sql, turn.workspaceId),
      failures: 0,
      failingSince: null,
      blockedUntil: null,
      slow: false,
      leaseHolder: null,
      leaseUntil: null,
      createdAt: at,
      updatedAt: at,
    }
    await webhooks.insert(turn.sql, row)
    turn.audit({ kind: 'webhook', id: row.id })
    this.#announce(turn, row, webhookCreated)
    return { ...view(row), secret }
  }

  async list(workspaceId: string, page: PageRequest): Promise<PageResult<WebhookData>> {
    const rows = await webhooks.page(this.#foundation.database, { workspaceId }, page)
    return pageOf(rows, page.limit, ({ createdAt, id }) => ({ createdAt, id }), view)
  }

  /** @throws AppError not_found */
  async get(workspaceId: string, id: string): Promise<WebhookData> {
    const row = await webhooks.first(this.#foundation.database, { id, workspaceId })
    if (row === undefined) throw NotFound()
    return view(row)
  }

  /** @throws AppError not_found, precondition_failed, validation_failed, url_refused */
  async update(
    turn: Turn,
    member: Member,
    id: string,
    body: WebhookChangeData,
    ifMatch: IfMatch,
  ): Promise<ChangedWebhookData> {
    const row = await webhooks.first(turn.sql, { id, workspaceId: turn.workspaceId }, { lock: 'for no key update' })
    if (row === undefined) throw NotFound()
    requireVersion(ifMatch, row.version)
    this.#check(body)
    turn.audit({ kind: 'webhook', id })
    const { changes, secret } = await this.#changes(turn, member, row, body)
    if (Object.keys(changes).length === 0) return view(row)
    const updatedAt = new Date(this.#foundation.clock.now())
    const change = { ...changes, version: row.version + 1, updatedAt }
    const [changed = row] = await webhooks.updateReturning(turn.sql, { id }, change)
    this.#announce(turn, changed, webhookUpdated)
    return { ...view(changed), ...(secret !== undefined && { secret }) }
  }

  /** Disables a webhook on behalf of the service. Does nothing if it is disabled already. */
  async disable(turn: Turn, id: string, reason: DisabledReason): Promise<void> {
    const where = { id, workspaceId: turn.workspaceId, status: 'enabled' } as const
    const row = await webhooks.first(turn.sql, where, { lock: 'for no key update' })
    if (row === undefined) return
    const at = new Date(this.#foundation.clock.now())
    const changes = { status: 'disabled', disabledReason: reason, version: row.version + 1, updatedAt: at } as const
    const [changed = row] = await webhooks.updateReturning(turn.sql, { id }, changes)
    await this.#giveUp(turn, id, at)
    if (reason !== 'by_member') await notifyDisabled(turn, row, reason)
    turn.audit({ kind: 'webhook', id })
    this.#announce(turn, changed, webhookUpdated)
  }

  /** @throws AppError not_found, precondition_failed */
  async delete(turn: Turn, id: string, ifMatch: IfMatch): Promise<void> {
    const where = { id, workspaceId: turn.workspaceId }
    const row = await webhooks.first(turn.sql, where, { columns: ['version'], lock: 'for update' })
    if (row === undefined) throw NotFound()
    requireVersion(ifMatch, row.version)
    await webhooks.delete(turn.sql, where)
    turn.audit({ kind: 'webhook', id })
    turn.afterCommit(() => this.#parts.wakes.changed(turn.workspaceId))
    turn.emit(webhookDeleted, { webhookId: id })
  }

  async #changes(turn: Turn, member: Member, row: WebhookRow, body: WebhookChangeData) {
    const { clock, logs } = this.#foundation
    const isTakenOver = (body.url ?? row.url) !== row.url || body.events !== undefined || body.rotateSecret === true
    const reader = readerOf(member)
    const status = body.status ?? row.status
    const secret = body.rotateSecret === true ? newSecret() : undefined
    const validUntil = clock.now() + (body.keepSecretSeconds ?? KEEP_SECONDS) * SECOND
    if (status === 'disabled' && row.status === 'enabled') await this.#giveUp(turn, row.id, new Date(clock.now()))
    const changes = {
      ...(body.url !== undefined && { url: body.url }),
      ...(body.description !== undefined && { description: body.description }),
      ...(body.events !== undefined && { events: [...body.events] }),
      ...(body.ordered !== undefined && { ordered: body.ordered }),
      ...(isTakenOver && reader),
      // The node that holds the lease selects events for the webhook as it was. Without the lease, it cannot move the cursor past
      // events that the changed webhook should receive.
      ...(isTakenOver &&
        !isSameSelection(row, { ...row, ...body, ...reader }) && { leaseHolder: null, leaseUntil: null }),
      ...(secret !== undefined && {
        secretSealed: this.#parts.secrets.seal(secret),
        previousSecretSealed: row.secretSealed,
        previousSecretUntil: new Date(validUntil),
      }),
      ...(status === 'disabled' && row.status === 'enabled' && { status, disabledReason: 'by_member' as const }),
      ...(status === 'enabled' &&
        row.status === 'disabled' && {
          status,
          disabledReason: null,
          ...(row.disabledReason === 'reader_left' && reader),
          cursor: await logs.newestEvent(turn.sql, turn.workspaceId),
          failures: 0,
          failingSince: null,
          blockedUntil: null,
          slow: false,
        }),
    }
    return { changes, secret }
  }

  /** Ends the deliveries that still wait. */
  async #giveUp(turn: Turn, webhookId: string, at: Date): Promise<void> {
    const changes = { status: 'failed', nextAttemptAt: null, updatedAt: at } as const
    await webhookDeliveries.update(turn.sql, { webhookId, status: 'pending' }, changes)
  }

  #announce(turn: Turn, row: WebhookRow, type: typeof webhookCreated): void {
    const { id, status, disabledReason, url } = row
    turn.afterCommit(() => this.#parts.wakes.changed(turn.workspaceId))
    turn.emit(type, { webhookId: id, url, status, disabledReason })
  }

  #check({ events, url }: { readonly events?: readonly string[]; readonly url?: string }): void {
    if (events !== undefined) checkPatterns(events, this.#foundation.declared.eventTypes)
    if (url === undefined) return
    try {
      checkUrl(url, this.#parts.rules)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const { message } = error
      throw ValidationFailed({ message, errors: [{ path: '/body/url', code: error.code, message }] })
    }
  }
}

/** The member whose rights decide what the endpoint gets, with the limits of the API key. */
function readerOf(member: Member): Pick<WebhookRow, 'readerId' | 'readerScopes'> {
  return { readerId: member.userId, readerScopes: member.key === 'limited' ? [...member.scopes] : null }
}

type Selection = Pick<WebhookRow, 'url' | 'readerId' | 'readerScopes'> & { readonly events: readonly string[] }

/** Whether two versions of a webhook have the same URL, events and reader. */
function isSameSelection(before: Selection, after: Selection): boolean {
  const textOf = ({ events, readerId, readerScopes, url }: Selection) =>
    JSON.stringify([url, events, readerId, readerScopes])
  return textOf(before) === textOf(after)
}

function view(row: WebhookRow): WebhookData {
  const { createdAt, createdBy, description, events, id, ordered, readerId, updatedAt, url, version, workspaceId } = row
  return {
    _id: id,
    workspaceId,
    url,
    description,
    events,
    ordered,
    status: row.status,
    disabledReason: row.disabledReason,
    failingSince: row.failingSince,
    nextAttemptAt: row.blockedUntil,
    previousSecretExpiresAt: row.previousSecretUntil,
    lastSeq: row.cursor,
    readerId,
    createdBy,
    version,
    createdAt,
    updatedAt,
  }
}
