import { createHash } from 'node:crypto'
import type { Caller } from '../../../../core/caller.ts'
import { NotFound } from '../../../../core/errors.ts'
import { SECOND } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import { UnrecoverableError } from '../../../../core/job.ts'
import type { Sql } from '../../../../core/sql.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { SealedBox } from '../../../../tools/sealed-box.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { Foundation } from '../../../../foundation.ts'
import { textsFor } from '../../../../language/texts.ts'
import { findValidCredentials } from '../../../identity/auth/index.ts'
import { findReaders, type Reader } from '../../../identity/users/index.ts'
import { unreadOf } from '../box.ts'
import { pushNotification } from '../jobs.ts'
import { notifications } from '../tables.ts'
import { actorsOf, viewOf } from '../views.ts'
import type { DeviceData, NewDeviceData, TestPushData } from './schemas.ts'
import { pushDevices, type PushDeviceRow } from './tables.ts'
import { checkAddress, sendTo, type Address, type Senders } from './addresses.ts'
import { DEFAULT_TTL_SECONDS, type PushMessage, type PushResult } from './message.ts'

/** Devices of a user. Another one replaces the one that was registered first. */
const MAX = 20
/** Characters of a text in a message. Push services accept about 4,000 bytes. */
const TEXT = 500

interface PushData {
  readonly deviceId: string
  readonly notificationId: string
  /** Whether quiet hours have delayed it. One message then replaces all delayed ones. */
  readonly held: boolean
}

/** The devices of users, and the messages to them. */
export class Devices {
  readonly #foundation: Pick<Foundation, 'clock' | 'database' | 'declared' | 'jobs'>
  readonly #secrets: SealedBox
  readonly #senders: Senders

  constructor(
    foundation: Pick<Foundation, 'clock' | 'database' | 'declared' | 'jobs'>,
    { secrets, senders }: { secrets: SealedBox; senders: Senders },
  ) {
    this.#foundation = foundation
    this.#secrets = secrets
    this.#senders = senders
  }

  async list(userId: string, page: PageRequest): Promise<{ page: PageResult<DeviceData>; key: string }> {
    await this.#removeSignedOut(await pushDevices.find(this.#foundation.database, { userId }))
    const rows = await pushDevices.page(this.#foundation.database, { userId }, page)
    const key = ({ createdAt, id }: PushDeviceRow) => ({ createdAt, id })
    return { page: pageOf(rows, page.limit, key, deviceView), key: await this.#senders.web.publicKey() }
  }

  /**
   * Registers a device, which gets messages until its session ends. The same subscription or token again is the same
   * device, which may move to another user.
   * @throws AppError validation_failed
   */
  async register(caller: Pick<Caller, 'sessionId' | 'userId'>, given: NewDeviceData): Promise<DeviceData> {
    const { clock, database } = this.#foundation
    const { kind, name = '' } = given
    const { userId } = caller
    const sessionId = caller.sessionId ?? null
    const address = checkAddress(given, this.#senders)
    const at = new Date(clock.now())
    const digested = `${kind} ${'token' in address ? address.token : address.endpoint}`
    const addressDigest = createHash('sha256').update(digested).digest('base64url')
    const subscriptionSealed = this.#secrets.seal(JSON.stringify(address))
    return database.transaction(async (tx) => {
      const id = uuidv7(clock.now())
      const row = { id, userId, sessionId, kind, name, addressDigest, subscriptionSealed, error: null }
      const changes = ['userId', 'sessionId', 'name', 'subscriptionSealed', 'error', 'updatedAt'] as const
      await pushDevices.upsert(tx, { ...row, createdAt: at, updatedAt: at }, ['addressDigest'], changes)
      const own = await pushDevices.find(tx, { userId }, { orderBy: ['id desc'] })
      const surplus = own.slice(MAX).map(({ id }) => id)
      if (surplus.length > 0) await pushDevices.delete(tx, { id: anyOf(surplus) })
      const registered = own.find((one) => one.addressDigest === addressDigest)
      if (registered === undefined) throw NotFound()
      return deviceView(registered)
    })
  }

  /** @throws AppError not_found */
  async unregister(userId: string, id: string): Promise<void> {
    if ((await pushDevices.delete(this.#foundation.database, { id, userId })) === 0) throw NotFound()
  }

  /** Sends a message to every device of a user, and says what came of it. */
  async test(userId: string): Promise<TestPushData> {
    const { clock, database } = this.#foundation
    const rows = await this.#removeSignedOut(await pushDevices.find(database, { userId }, { orderBy: ['id desc'] }))
    const [reader] = await findReaders(database, [userId])
    const title = textsFor(reader?.language ?? 'en').say('notification.test')
    const fields = { title, text: '', data: { type: 'test' }, unreadCount: undefined, urgent: true, ttlSeconds: 60 }
    const results = await Promise.all(
      rows.map(async (row) => {
        const result = await this.#send(row, { ...fields, id: uuidv7(clock.now()), topic: `test ${row.id}` })
        const error = result.outcome === 'accepted' ? null : result.error
        return { deviceId: row.id, delivered: error === null, error }
      }),
    )
    return { results }
  }

  /**
   * Sends a notification to a device. Skips it if the notification was read, or if the user has signed out on the device.
   * @returns when it should be sent again, if the push service has asked to wait
   * @throws Error when it should be sent again later
   */
  async deliver({ deviceId, held, notificationId }: PushData): Promise<Date | undefined> {
    const { clock, database } = this.#foundation
    const [device] = await this.#removeSignedOut(await pushDevices.find(database, { id: deviceId }))
    const [reader] = device === undefined ? [] : await findReaders(database, [device.userId])
    if (device === undefined || reader === undefined) return undefined
    const message = await this.#messageOf(reader, notificationId, held)
    if (message === undefined) return undefined
    const result = await this.#send(device, message)
    if (result.outcome === 'refused') throw new UnrecoverableError(result.error)
    if (result.outcome !== 'later') return undefined
    if (result.waitMs === undefined) throw new Error(result.error)
    // Nobody reads a message that is older than its time to live.
    return result.waitMs >= message.ttlSeconds * SECOND ? undefined : new Date(clock.now() + result.waitMs)
  }

  /** Adds the job that sends a message again at a time. */
  async again(sql: Sql, data: PushData, runAt: Date): Promise<void> {
    await this.#foundation.jobs.add(sql, pushNotification, data, { runAt })
  }

  async #messageOf(reader: Reader, notificationId: string, held: boolean): Promise<PushMessage | undefined> {
    const { database, declared } = this.#foundation
    const row = await notifications.first(database, { id: notificationId, userId: reader.id })
    const type = row && declared.notificationTypes.get(row.type)
    if (row === undefined || type === undefined) return undefined
    const { unreadCount } = await unreadOf(database, reader.id)
    const isMany = held && unreadCount > 1
    if (!isMany && row.inApp && row.readAt !== null) return undefined
    const view = viewOf(row, type, await actorsOf(database, [row]), reader.language)
    const several = { title: textsFor(reader.language).say('notification.digest', { count: unreadCount }), text: '' }
    const { _id, kind, resourceId, resourceKind, text, title, workspaceId } = view
    const details = { notificationId: _id, kind, workspaceId, resourceKind, resourceId }
    const age = held ? 0 : Math.floor((this.#foundation.clock.now() - Date.parse(row.latestAt)) / SECOND)
    const ttlSeconds = (type.ttlSeconds ?? DEFAULT_TTL_SECONDS) - age
    if (ttlSeconds <= 0) return undefined
    return {
      id: row.id,
      ...(isMany ? several : { title, text: text.slice(0, TEXT) }),
      data: isMany ? { type: 'notifications' } : { type: row.type, ...details },
      unreadCount,
      urgent: type.urgent === true,
      ttlSeconds,
      topic: isMany ? 'notifications' : row.id,
    }
  }

  /** Removes devices whose session has ended, so that they show nothing after a sign-out. @returns the others */
  async #removeSignedOut(rows: readonly PushDeviceRow[]): Promise<PushDeviceRow[]> {
    const { clock, database } = this.#foundation
    const refs = rows.map((row) => ({ row, userId: row.userId, sessionId: row.sessionId, apiKeyId: null, since: 0 }))
    const ofSessions = refs.filter(({ sessionId }) => sessionId !== null)
    const active = new Set(await findValidCredentials(database, ofSessions, clock.now()))
    const ended = ofSessions.filter((ref) => !active.has(ref)).map(({ row }) => row.id)
    if (ended.length > 0) await pushDevices.delete(database, { id: anyOf(ended) })
    return rows.filter(({ id }) => !ended.includes(id))
  }

  /** Sends a message, and removes the device if its subscription has ended. */
  async #send(row: PushDeviceRow, message: PushMessage): Promise<PushResult> {
    const { clock, database } = this.#foundation
    const address = JSON.parse(this.#secrets.open(row.subscriptionSealed)) as Address
    const result = await sendTo(this.#senders, row.kind, address, message)
    const where = { id: row.id, subscriptionSealed: row.subscriptionSealed }
    const at = new Date(clock.now())
    if (result.outcome === 'gone') await pushDevices.delete(database, where)
    else if (result.outcome === 'accepted') {
      await pushDevices.update(database, where, { lastDeliveredAt: at, error: null })
    } else await pushDevices.update(database, where, { error: result.error })
    return result
  }
}

function deviceView(row: PushDeviceRow): DeviceData {
  const { createdAt, error, id, kind, lastDeliveredAt, name, updatedAt } = row
  return { _id: id, kind, name, lastDeliveredAt, error, createdAt, updatedAt }
}
