import { defineEntity, p } from '@mikro-orm/postgresql'
import { timestamp, references } from '../../../../db/columns.ts'
import type { Row } from '../../../../db/row.ts'
import { table } from '../../../../db/table.ts'
import { User } from '../../../identity/users/index.ts'

export const DEVICE_KINDS = ['web', 'fcm', 'apns'] as const
export type DeviceKind = (typeof DEVICE_KINDS)[number]

/** A browser or phone of a user that gets push messages. */
export const PushDevice = defineEntity({
  name: 'PushDevice',
  tableName: 'push_devices',
  indexes: [{ name: 'push_devices_by_user', properties: ['userId', 'id'] }],
  properties: {
    id: p.uuid().primary(),
    userId: references(User, { name: 'push_devices_user_id_fkey', onDelete: 'cascade' }),
    /** The session that registered it. It is removed when the session ends. Null if an API key registered it. */
    sessionId: p.uuid().nullable(),
    kind: p.text().$type<DeviceKind>(),
    name: p.text(),
    /** A digest of where its messages go. A device belongs to the user who registered it last. */
    addressDigest: p.text().unique('push_devices_address_digest_key'),
    /** The subscription, which contains the keys of the browser, or the token of the app. */
    subscriptionSealed: p.text(),
    lastDeliveredAt: timestamp().nullable(),
    /** Why the last message was not accepted. */
    error: p.text().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** The keys with which this installation identifies itself to push services (RFC 8292), made at the first start. */
export const PushKey = defineEntity({
  name: 'PushKey',
  tableName: 'push_keys',
  properties: {
    /** `vapid`. */
    name: p.text().primary(),
    publicKey: p.text(),
    privateKeySealed: p.text(),
    createdAt: timestamp(),
  },
})

export const pushDevices = table(PushDevice)
export const pushKeys = table(PushKey)
export type PushDeviceRow = Row<typeof PushDevice>
