import { ECDH } from 'node:crypto'
import { ValidationFailed } from '../../../../core/errors.ts'
import type { Apns } from './apns.ts'
import type { Fcm } from './fcm.ts'
import type { PushMessage, PushResult } from './message.ts'
import type { NewDeviceData } from './schemas.ts'
import type { DeviceKind } from './tables.ts'
import type { Subscription, WebPush } from './web-push.ts'

/** Where the messages of a device go: the subscription of a browser, or the token of an app. */
export type Address = Subscription | { readonly token: string }

/** The senders of messages. FCM and APNs are undefined unless they are configured. */
export interface Senders {
  readonly web: WebPush
  readonly fcm: Fcm | undefined
  readonly apns: Apns | undefined
}

const SETTING = { fcm: 'FCM_SERVICE_ACCOUNT', apns: 'APNS_KEY' } as const

/** @throws AppError validation_failed unless messages can be sent to the device */
export function checkAddress({ kind, subscription, token }: NewDeviceData, senders: Senders): Address {
  if (kind === 'web') {
    if (subscription === undefined) throw refused('subscription', 'required', 'is required for the kind `web`')
    if (token !== undefined)
      throw refused('token', 'not_allowed', 'is only for the kinds `fcm` and `apns`; leave it out')
    return checkedSubscription(subscription)
  }
  if (senders[kind] === undefined) {
    throw refused(
      'kind',
      'not_configured',
      `must be another kind than \`${kind}\`: the operator of this server has not set ${SETTING[kind]}`,
    )
  }
  if (token === undefined) throw refused('token', 'required', `is required for the kind \`${kind}\``)
  if (subscription !== undefined) {
    throw refused('subscription', 'not_allowed', 'is only for the kind `web`; leave it out')
  }
  if (kind === 'apns' && !/^([0-9a-f]{2}){16,100}$/i.test(token)) {
    throw refused('token', 'format', 'must be the device token in hexadecimal, usually 64 characters (0-9 and a-f)')
  }
  // APNs ignores the case of tokens, so they are stored in one form.
  return { token: kind === 'apns' ? token.toLowerCase() : token }
}

/** Sends a message to a device. */
export async function sendTo(
  senders: Senders,
  kind: DeviceKind,
  address: Address,
  message: PushMessage,
): Promise<PushResult> {
  if (!('token' in address)) return senders.web.send(address, message)
  const sender = kind === 'web' ? undefined : senders[kind]
  const error = `Messages of the kind ${kind} are off: the operator of this server has removed a setting.`
  return sender === undefined ? { outcome: 'refused', error } : sender.send(address.token, message)
}

function checkedSubscription(subscription: Subscription): Subscription {
  const { endpoint, keys } = subscription
  if (!URL.canParse(endpoint))
    throw refused('subscription/endpoint', 'url', 'must be the `https` URL that `pushManager.subscribe` returned')
  try {
    ECDH.convertKey(keys.p256dh, 'prime256v1', 'base64url')
  } catch {
    throw refused(
      'subscription/keys/p256dh',
      'key',
      'must be the public key that `pushManager.subscribe` returned, a point on the curve P-256',
    )
  }
  return subscription
}

function refused(field: string, code: string, message: string) {
  return ValidationFailed({ errors: [{ path: `/body/${field}`, code, message }] })
}
