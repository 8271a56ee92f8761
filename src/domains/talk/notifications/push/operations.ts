import { EXAMPLE } from '../../../../core/example-ids.ts'
import { NotFound, ValidationFailed } from '../../../../core/errors.ts'
import { operation } from '../../../../core/operation.ts'
import { pageRequest } from '../../../../core/page.ts'
import { created, done, list, ok, reply } from '../../../../core/reply.ts'
import { Done, Envelope } from '../../../../core/schema.ts'
import { DeviceList, DevicePath, DeviceQuery, DeviceView, NewDevice, TestPush } from './schemas.ts'

export const listDevices = operation({
  route: 'GET /api/users/me/devices',
  summary: 'List your devices',
  description: 'The devices that get push messages, and the key that browsers need to subscribe.',
  access: 'user',
  query: DeviceQuery,
  returns: { 200: DeviceList },
  example: { query: { limit: 30 } },
  handle: async ({ caller, notifications, query }) => {
    const { key, page } = await notifications.devices.list(caller.userId, pageRequest(query))
    return reply(200, { ...list('Devices', page).body, applicationServerKey: key })
  },
})

export const registerDevice = operation({
  route: 'POST /api/users/me/devices',
  summary: 'Register a device for push messages',
  description:
    'For a browser, send `subscription`: what `pushManager.subscribe` returns for `applicationServerKey` of `GET /api/users/me/devices`. For an app, send `token`: the token that it got from Firebase or APNs. The same subscription or token again is the same device. It moves to you if another user had registered it. You can have 20 devices; another one replaces the one that was registered first. A device is removed when the session that registered it ends, or when its push service reports that the subscription or token has ended.\n\nMessages to browsers are JSON: `type`, `title`, `text` and `unreadCount`, and for a single notification also `notificationId`, `kind`, `workspaceId`, `resourceKind` and `resourceId`. Apps get title and text as an alert, and the other fields as data.',
  access: 'user',
  body: NewDevice,
  returns: { 201: Envelope(DeviceView) },
  errors: [ValidationFailed],
  example: {
    body: {
      kind: 'web',
      name: 'Firefox on Linux',
      subscription: {
        endpoint: 'https://push.example.com/send/abc',
        keys: {
          p256dh: 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
          auth: 'tBHItJI5svbpez7KI4CCXg',
        },
      },
    },
  },
  handle: async ({ body, caller, notifications }) =>
    created('Device registered', await notifications.devices.register(caller, body)),
})

export const unregisterDevice = operation({
  route: 'DELETE /api/users/me/devices/{id}',
  summary: 'Unregister a device',
  access: 'user',
  path: DevicePath,
  returns: { 200: Done },
  errors: [NotFound],
  example: { path: { id: EXAMPLE.deviceId } },
  handle: async ({ caller, notifications, path }) => {
    await notifications.devices.unregister(caller.userId, path.id)
    return done('Device unregistered')
  },
})

export const sendTestPush = operation({
  route: 'POST /api/users/me/devices/test',
  summary: 'Send a test message to your devices',
  description: 'Replies when each push service has answered, or after ten seconds.',
  access: 'user',
  returns: { 200: Envelope(TestPush) },
  example: {},
  handle: async ({ caller, notifications }) => ok('Test sent', await notifications.devices.test(caller.userId)),
})
