import { DAY, MINUTE, type Clock } from '../../../../core/clock.ts'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { secretToken, sha256, uuidv7 } from '../../../../tools/id.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { increment } from '../../../../db/increment.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import { guestCreated, guestRevoked } from '../events.ts'
import { recheckApprovals } from '../jobs.ts'
import { approvalGuests, type GuestRow } from '../tables.ts'
import type { GuestData, NewGuestData } from './schemas.ts'
import { isSame, keyFor, type Key } from '../../../../tools/keys.ts'

const DEFAULT_DAYS = 14
/** After this many wrong passcodes, the link is locked for `LOCK_MS`. */
const MAX_TRIES = 5
const LOCK_MS = 15 * MINUTE

/** Hashes and checks passcodes (`PasswordHasher` of auth). */
export interface Hasher {
  hash(passcode: string): Promise<string>
  verify(stored: string, passcode: string): Promise<boolean>
}

interface LinkNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly secret: string
  readonly publicUrl: string
  readonly hasher: Hasher
}

/** Links with which people without an account see and decide on posts. Tokens are stored as hashes. */
export class GuestLinks {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #key: Key
  readonly #publicUrl: string
  readonly #hasher: Hasher

  constructor({ clock, hasher, publicUrl, secret, sql }: LinkNeeds) {
    this.#sql = sql
    this.#clock = clock
    this.#publicUrl = publicUrl
    this.#hasher = hasher
    this.#key = keyFor(secret, 'approval guests')
  }

  /** The hash of a passcode, made before the turn because it takes long. */
  async hashOf(passcode: string | undefined): Promise<string | null> {
    return passcode === undefined ? null : this.#hasher.hash(passcode)
  }

  /** @returns the link, whose token is not stored. @throws AppError validation_failed */
  async create(
    turn: Turn,
    input: NewGuestData,
    { passcodeHash, userId }: { userId: string; passcodeHash: string | null },
  ): Promise<{ guest: GuestData; url: string }> {
    const limits = [input.postId, input.label, input.accountId].filter((one) => one !== undefined)
    if (limits.length > 1) {
      const message = 'Name one of postId, label and accountId.'
      throw ValidationFailed({ message, errors: [{ path: '/body', code: 'conflict', message }] })
    }
    const now = this.#clock.now()
    const at = new Date(now).toISOString()
    const token = secretToken()
    const expires = new Date(now + (input.validDays ?? DEFAULT_DAYS) * DAY)
    const row: GuestRow = {
      id: uuidv7(now),
      workspaceId: turn.workspaceId,
      name: input.name,
      tokenHash: sha256(token),
      passcodeHash,
      failedTries: 0,
      lockedUntil: null,
      postId: input.postId ?? null,
      label: input.label ?? null,
      accountId: input.accountId ?? null,
      timezone: input.timezone ?? (await timeZoneOf(turn.sql, turn.workspaceId)),
      expiresAt: expires.toISOString(),
      revokedAt: null,
      lastSeenAt: null,
      createdBy: userId,
      createdAt: at,
      updatedAt: at,
    }
    await approvalGuests.insert(turn.sql, row)
    const guest = guestView(row)
    turn.emit(guestCreated, guest)
    turn.audit({ kind: 'approval_guest', id: row.id, details: { name: row.name } })
    turn.job(recheckApprovals, {}, { key: turn.workspaceId })
    // A stage must not wait for a link that does not work any more.
    turn.job(recheckApprovals, {}, { runAt: expires })
    return { guest, url: `${this.#publicUrl}/api/guests/${token}` }
  }

  /** Newest first. */
  async list(workspaceId: string, page: PageRequest): Promise<PageResult<GuestData>> {
    const rows = await approvalGuests.page(this.#sql, { workspaceId }, page)
    return pageOf(rows, page.limit, (row) => row, guestView)
  }

  /** @throws AppError not_found */
  async revoke(turn: Turn, id: string): Promise<void> {
    const now = new Date(this.#clock.now())
    const changes = { revokedAt: now, updatedAt: now }
    const revoked = await approvalGuests.update(
      turn.sql,
      { id, workspaceId: turn.workspaceId, revokedAt: null },
      changes,
    )
    if (revoked === 0) throw NotFound()
    turn.emit(guestRevoked, { approvalGuestId: id })
    turn.audit({ kind: 'approval_guest', id })
    turn.job(recheckApprovals, {}, { key: turn.workspaceId })
  }

  /** The guest of a link that works; undefined for one that is unknown, expired or revoked. */
  async find(token: string): Promise<GuestRow | undefined> {
    const row = await approvalGuests.first(this.#sql, { tokenHash: sha256(token), revokedAt: null })
    return row !== undefined && Date.parse(row.expiresAt) > this.#clock.now() ? row : undefined
  }

  /** Notes that a link was opened. */
  async seen({ id }: GuestRow): Promise<void> {
    await approvalGuests.update(this.#sql, { id }, { lastSeenAt: new Date(this.#clock.now()) })
  }

  /** Checks a passcode. A few wrong ones lock the link for a while. */
  async enter(guest: GuestRow, passcode: string): Promise<'right' | 'wrong' | 'locked'> {
    const now = this.#clock.now()
    if (guest.lockedUntil !== null && Date.parse(guest.lockedUntil) > now) return 'locked'
    // Counted before the slow check, so that tries at the same time count too.
    const [counted] = await approvalGuests.updateReturning(this.#sql, { id: guest.id }, { failedTries: increment() })
    if ((counted?.failedTries ?? 0) > MAX_TRIES) {
      const lockedUntil = new Date(now + LOCK_MS)
      await approvalGuests.update(this.#sql, { id: guest.id }, { failedTries: 0, lockedUntil })
      return 'locked'
    }
    const isRight = guest.passcodeHash !== null && (await this.#hasher.verify(guest.passcodeHash, passcode))
    if (isRight) await approvalGuests.update(this.#sql, { id: guest.id }, { failedTries: 0, lockedUntil: null })
    return isRight ? 'right' : 'wrong'
  }

  /** A value that only this server can make for a link: for the cookie after the passcode, and for forms. */
  proof({ id, passcodeHash, tokenHash }: GuestRow, purpose: 'cookie' | 'form'): string {
    const text = [purpose, id, tokenHash, passcodeHash ?? ''].join(' ')
    return this.#key.mac(text)
  }

  isProof(guest: GuestRow, purpose: 'cookie' | 'form', given: string | undefined): boolean {
    return isSame(this.proof(guest, purpose), given ?? '')
  }
}

function guestView(row: GuestRow): GuestData {
  return {
    _id: row.id,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    workspaceId: row.workspaceId,
    name: row.name,
    postId: row.postId,
    label: row.label,
    accountId: row.accountId,
    timezone: row.timezone,
    hasPasscode: row.passcodeHash !== null,
    expiresAt: row.expiresAt,
    revokedAt: row.revokedAt,
    lastSeenAt: row.lastSeenAt,
    createdBy: row.createdBy,
  }
}
