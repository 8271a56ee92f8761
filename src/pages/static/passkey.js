import { post, say } from './api.js'
import { askForCode, signIn } from './sign-in.js'

const form = document.querySelector('form')
const button = form.querySelector('button')
/** Of the sign-in, which is kept while the form asks for another code. */
let accessToken

if (typeof globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON !== 'function') {
  form.hidden = true
  say({ ok: false, message: 'This browser cannot create passkeys. Open the page in a current one, over HTTPS.' })
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void submit()
})

async function submit() {
  button.disabled = true
  const reply = await add()
  button.disabled = false
  say(reply)
  if (reply.ok) form.hidden = true
}

async function add() {
  const { code, name } = form.elements
  if (accessToken === undefined) {
    const login = await signIn(form)
    if (!login.ok) return login
    accessToken = login.data.accessToken
    // A code is accepted once.
    code.value = ''
  }
  const proof = code.value === '' ? {} : { code: code.value }
  const options = await post('/api/auth/passkeys/options', proof, accessToken)
  if (options.code === 'wrong_second_factor') {
    return askForCode(form, 'Enter the next code from your authenticator app, or another recovery code.')
  }
  const reply = options.ok ? await register(options.data.options, name.value.trim()) : options
  // The session was only needed for this page.
  await post('/api/auth/logout', undefined, accessToken)
  accessToken = undefined
  return reply
}

async function register(options, name) {
  let credential
  try {
    credential = await navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
    })
  } catch (error) {
    const message =
      error.name === 'InvalidStateError'
        ? 'This device has a passkey of your account already.'
        : 'No passkey was created. Try again, and confirm with your fingerprint, face or PIN.'
    return { ok: false, message }
  }
  const body = { response: credential.toJSON(), ...(name !== '' && { name }) }
  return post('/api/auth/passkeys', body, accessToken)
}
