import { pageFields } from '../../../../core/page.ts'
import {
  Id,
  Input,
  ListOf,
  Nullable,
  OneOf,
  Text,
  Timestamp,
  Type,
  named,
  type Static,
} from '../../../../core/schema.ts'
import { DEVICE_KINDS } from './tables.ts'

const KindSchema = OneOf(DEVICE_KINDS, {
  description:
    'How it gets messages: `web` is Web Push of a browser, `fcm` Firebase Cloud Messaging (Android), `apns` the service of Apple (iOS)',
})

export const DeviceView = named(
  'Device',
  Type.Object({
    _id: Id,
    kind: KindSchema,
    name: Type.String({ description: 'Name that the client has given it' }),
    lastDeliveredAt: Nullable(
      Type.String({
        ...Timestamp,
        description: 'When its push service last accepted a message. Null before the first',
      }),
    ),
    error: Nullable(Type.String({ description: 'Why its push service did not accept the last message' })),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  }),
)
export type DeviceData = Static<typeof DeviceView>

export const DeviceList = Type.Object({
  ...ListOf(DeviceView).properties,
  applicationServerKey: Type.String({
    description: 'The public key for `pushManager.subscribe` in browsers (VAPID, RFC 8292). The same for all users',
  }),
})

export const DeviceQuery = Input(pageFields)
export const DevicePath = Input({ id: Id })

const Key = (characters: number, description: string) =>
  Type.String({ pattern: `^[A-Za-z0-9_-]{${characters}}$`, description })

export const NewDevice = Input({
  kind: KindSchema,
  name: Type.Optional(Text(0, 100, { description: 'Such as `Firefox on Linux`' })),
  token: Type.Optional(
    Text(1, 4_096, {
      description: 'For `fcm`, the registration token of the app. For `apns`, the device token in hexadecimal',
    }),
  ),
  subscription: Type.Optional(
    Input(
      {
        endpoint: Text(1, 2_000, { description: 'Where messages are sent: an `https` URL of the push service' }),
        expirationTime: Type.Optional(Nullable(Type.Number())),
        keys: Input({
          p256dh: Key(87, 'The public key of the browser: 87 characters of base64url'),
          auth: Key(22, 'The secret of the browser: 22 characters of base64url'),
        }),
      },
      { description: 'For `web`, what `pushManager.subscribe` returns, as JSON' },
    ),
  ),
})
export type NewDeviceData = Static<typeof NewDevice>

export const TestPush = named(
  'TestPush',
  Type.Object({
    results: Type.Array(
      Type.Object({
        deviceId: Id,
        delivered: Type.Boolean({ description: 'Whether the push service has accepted the message' }),
        error: Nullable(Type.String({ description: 'Why it was not accepted' })),
      }),
    ),
  }),
)
export type TestPushData = Static<typeof TestPush>
