import { get, post } from './api.js'
import { showAs } from './appearance.js'

/**
 * Signs in with the fields of a form: email, password, and a code if the account has a second factor. The field of the code
 * is shown when it is needed.
 * @returns {Promise<{ ok: boolean, message: string, data?: any }>} with `data.accessToken`
 */
export async function signIn(form) {
  const reply = await tryToSignIn(form)
  if (reply.ok) {
    const settings = await get('/api/users/me/settings', reply.data.accessToken)
    if (settings.ok) showAs(settings.data.ui)
  }
  return reply
}

async function tryToSignIn(form) {
  const { code, email, password } = form.elements
  const login = await post('/api/auth/login', { email: email.value, password: password.value })
  if (login.code !== 'second_factor_required') return login
  if (code.value === '') return askForCode(form, 'Enter a code from your authenticator app, or a recovery code.')
  return post('/api/auth/second-factor', { challenge: login.details.challenge, code: code.value })
}

/** Shows the empty field of the code, and says which one is needed. */
export function askForCode(form, message) {
  const { code } = form.elements
  document.querySelector('#code').hidden = false
  code.value = ''
  code.focus()
  return { ok: false, message }
}
