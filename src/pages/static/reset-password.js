import { post, say } from './api.js'

const form = document.querySelector('form')
const token = new URLSearchParams(location.search).get('token')
// The token gives access to the account, so it must not stay in the history or be visible in a screenshot.
history.replaceState(null, '', location.pathname)
if (token === null) document.querySelector('#token-field').hidden = false
else form.elements.token.value = token

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void reset()
})

async function reset() {
  const button = form.querySelector('button')
  button.disabled = true
  const { token: typed, password, revokeApiKeys } = form.elements
  const reply = await post('/api/auth/reset-password', {
    token: typed.value.trim(),
    password: password.value,
    revokeApiKeys: revokeApiKeys.checked,
  })
  button.disabled = false
  say(reply)
  if (reply.ok) form.hidden = true
}
