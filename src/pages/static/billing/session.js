import { showAs } from '../appearance.js'
import { t } from './texts.js'

/**
 * The session of the payer. Its tokens are only in the memory of this page: not in its address, a cookie or the
 * browser's storage. Reloading the page signs out.
 */
let tokens
let refreshing

export const isSignedIn = () => tokens !== undefined

/** Called when the session has ended. */
let onEnd = () => {}
export function whenEnded(listener) {
  onEnd = listener
}

/** @returns {Promise<{ ok: boolean, status: number, message: string, data?: any, code?: string, details?: any, blob?: Blob, pagination?: any }>} */
async function send(method, path, { body, key, headers = {} } = {}) {
  const all = { ...headers }
  if (body !== undefined) all['Content-Type'] = 'application/json'
  if (tokens !== undefined) all.Authorization = `Bearer ${tokens.accessToken}`
  if (key !== undefined) all['Idempotency-Key'] = key
  try {
    const init = { method, headers: all, body: body === undefined ? undefined : JSON.stringify(body) }
    const response = await fetch(path, init)
    const { ok, status } = response
    if (ok && response.headers.get('Content-Type')?.startsWith('application/json') !== true) {
      return { ok, status, message: '', blob: await response.blob() }
    }
    const reply = await response.json()
    const details = (reply.errors ?? []).map((error) => `${error.path.split('/').at(-1)} ${error.message}`)
    const wait = Number(response.headers.get('Retry-After'))
    const again = wait > 0 ? [t('error.again', { seconds: wait })] : []
    return {
      ...reply,
      ok,
      status,
      etag: response.headers.get('ETag'),
      message: [reply.message, ...details, ...again].join(' '),
    }
  } catch {
    return { ok: false, status: 0, message: t('error.away') }
  }
}

async function refresh() {
  const { refreshToken } = tokens
  const reply = await send('POST', '/api/auth/refresh', { body: { refreshToken } })
  if (reply.ok) tokens = reply.data
  return reply
}

/** Calls the API. An expired access token is renewed once. */
export async function call(method, path, options = {}) {
  const reply = await send(method, path, options)
  if (reply.status !== 401 || tokens === undefined) return reply
  refreshing ??= refresh().finally(() => (refreshing = undefined))
  const renewed = await refreshing
  if (renewed.ok) return send(method, path, options)
  if (renewed.status === 0 || renewed.status >= 500) return renewed
  tokens = undefined
  showAs()
  onEnd()
  return { ...reply, message: t('signIn.ended') }
}

/** Keeps the tokens, and shows the page as the user has chosen. Without an answer it stays as it is. */
async function begin(reply) {
  if (!reply.ok) return reply
  tokens = reply.data
  const settings = await send('GET', '/api/users/me/settings')
  if (settings.ok) showAs(settings.data.ui)
  return reply
}

/** @returns the reply, with `needsCode` when the account has a second factor */
export async function signIn({ email, password, code }) {
  let reply = await send('POST', '/api/auth/login', { body: { email, password } })
  if (reply.code === 'second_factor_required') {
    if (code === '') return { ...reply, needsCode: true, message: t('signIn.codeNeeded') }
    const { challenge } = reply.details
    reply = await send('POST', '/api/auth/second-factor', { body: { challenge, code } })
  }
  return begin(reply)
}

/** Signs in with a passkey of the device. */
export async function signInWithPasskey() {
  const asked = await send('POST', '/api/auth/passkeys/sign-in/options')
  if (!asked.ok) return asked
  let credential
  try {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(asked.data.options)
    credential = await navigator.credentials.get({ publicKey })
  } catch {
    return { ok: false, status: 0, message: t('signIn.noPasskey') }
  }
  return begin(await send('POST', '/api/auth/passkeys/sign-in', { body: { response: credential.toJSON() } }))
}

export async function signOut() {
  await send('POST', '/api/auth/logout')
  tokens = undefined
  showAs()
}

/** An idempotency key. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
