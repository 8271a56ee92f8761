import { createHash, ECDH } from 'node:crypto'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../core/id.ts'
import { UnrecoverableError } from '../../../../core/job.ts'
import { pageOf, type PageRequest } from '../../../../core/page.ts'
import type { PageResult } from '../../../../core/reply.ts'
import type { SealedBox } from '../../../../core/sealed-box.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { Foundation } from '../../../../foundation.ts'
import { textsFor } from '../../../../language/texts.ts'
import { findReaders, type Reader } from '../../../identity/users/index.ts'
import { unreadOf } from '../box.ts'
import { notifications } from '../tables.ts'
import { actorsOf, viewOf } from '../views.ts'
import type { DeviceData, NewDeviceData, TestPushData } from './schemas.ts'
import { pushDevices, type PushDeviceRow } from './tables.ts'
import { DEFAULT_TTL_SECONDS, type PushMessage, type PushResult, type Subscription, type WebPush } from './web-push.ts'

/** Devices of a user. Another one replaces the one that was registered first. */
const MOST = 20
/** Characters of a text in a message. Push services accept about 4,000 bytes. */
const TEXT = 500

/** The devices of users, and the messages to them. */
export class Devices {
  readonly #foundation: Pick<Foundation, 'clock' | 'database' | 'declared'>
  readonly #secrets: SealedBox
  readonly #web: WebPush

  constructor(
    foundation: Pick<Foundation, 'clock' | 'database' | 'declared'>,
    { secrets, web }: { secrets: SealedBox; web: WebPush },
  ) {
    this.#foundation = foundation
    this.#secrets = secrets
    this.#web = web
  }

  async list(userId: string, page: PageRequest): Promise<{ page: PageResult<DeviceData>; key: string }> {
    const rows = await pushDevices.page(this.#foundation.database, { userId }, page)
    const key = ({ createdAt, id }: PushDeviceRow) => ({ createdAt, id })
    return { page: pageOf(rows, page.limit, key, deviceView), key: await this.#web.publicKey() }
  }

  /** Registers a device. The same subscription again is the same device, which may move to another user. */
  async register(userId: string, { kind, name = '', subscription }: NewDeviceData): Promise<DeviceData> {
    const { clock, database } = this.#foundation
    checkSubscription(subscription)
    const at = new Date(clock.now())
    const addressDigest = createHash('sha256').update(`${kind} ${subscription.endpoint}`).digest('base64url')
    const subscriptionSealed = this.#secrets.seal(JSON.stringify(subscription))
    return database.transaction(async (tx) => {
      const row = { id: uuidv7(clock.now()), userId, kind, name, addressDigest, subscriptionSealed, error: null }
      const changes = ['userId', 'name', 'subscriptionSealed', 'error', 'updatedAt'] as const
      await pushDevices.upsert(tx, { ...row, createdAt: at, updatedAt: at }, ['addressDigest'], changes)
      const own = await pushDevices.find(tx, { userId }, { orderBy: ['id desc'] })
      const surplus = own.slice(MOST).map(({ id }) => id)
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
    const { database } = this.#foundation
    const rows = await pushDevices.find(database, { userId }, { orderBy: ['id desc'] })
    const [reader] = await findReaders(database, [userId])
    const title = textsFor(reader?.language ?? 'en').say('notification.test')
    const payload = JSON.stringify({ type: 'test', title, text: '' })
    const results = await Promise.all(
      rows.map(async (row) => {
        const result = await this.#send(row, { payload, urgent: true, ttlSeconds: 60, topic: `test ${row.id}` })
        const error = result.outcome === 'accepted' ? null : result.error
        return { deviceId: row.id, delivered: error === null, error }
      }),
    )
    return { results }
  }

  /**
   * Sends a notification to a device, unless it was read meanwhile.
   * @param held whether quiet hours have held it back. One message then stands for all that were
   * @throws Error when it should be sent again later
   */
  async deliver({ deviceId, held, notificationId }: { deviceId: string; notificationId: string; held: boolean }) {
    const { database } = this.#foundation
    const device = await pushDevices.first(database, { id: deviceId })
    const [reader] = device === undefined ? [] : await findReaders(database, [device.userId])
    if (device === undefined || reader === undefined) return
    const message = await this.#messageOf(reader, notificationId, held)
    if (message === undefined) return
    const result = await this.#send(device, message)
    if (result.outcome === 'later') throw new Error(result.error)
    if (result.outcome === 'refused') throw new UnrecoverableError(result.error)
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
    const shown = isMany
      ? several
      : { notificationId: _id, kind, title, text: text.slice(0, TEXT), workspaceId, resourceKind, resourceId }
    return {
      payload: JSON.stringify({ type: isMany ? 'notifications' : row.type, ...shown, unreadCount }),
      urgent: type.urgent === true,
      ttlSeconds: type.ttlSeconds ?? DEFAULT_TTL_SECONDS,
      topic: isMany ? 'notifications' : row.id,
    }
  }

  /** Sends a message, and removes the device if its subscription has ended. */
  async #send(row: PushDeviceRow, message: PushMessage): Promise<PushResult> {
    const { clock, database } = this.#foundation
    const subscription = JSON.parse(this.#secrets.open(row.subscriptionSealed)) as Subscription
    const result = await this.#web.send(subscription, message)
    const where = { id: row.id, subscriptionSealed: row.subscriptionSealed }
    const at = new Date(clock.now())
    if (result.outcome === 'gone') await pushDevices.delete(database, where)
    else if (result.outcome === 'accepted') {
      await pushDevices.update(database, where, { lastDeliveredAt: at, error: null })
    } else await pushDevices.update(database, where, { error: result.error })
    return result
  }
}

/** @throws AppError validation_failed unless messages can be encrypted for the subscription */
function checkSubscription({ endpoint, keys: { p256dh } }: Subscription): void {
  if (!URL.canParse(endpoint)) {
    const message = 'must be the URL of a push service'
    throw ValidationFailed({ errors: [{ path: '/body/subscription/endpoint', code: 'url', message }] })
  }
  try {
    ECDH.convertKey(p256dh, 'prime256v1', 'base64url')
  } catch {
    const message = 'must be a point on the curve P-256'
    throw ValidationFailed({ errors: [{ path: '/body/subscription/keys/p256dh', code: 'key', message }] })
  }
}

function deviceView(row: PushDeviceRow): DeviceData {
  const { createdAt, error, id, kind, lastDeliveredAt, name, updatedAt } = row
  return { _id: id, kind, name, lastDeliveredAt, error, createdAt, updatedAt }
}
