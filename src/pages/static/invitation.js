import { get, post, say } from './api.js'
import { signIn } from './sign-in.js'

const path = `/api/team/invitations/${location.pathname.split('/').at(-1)}`
const form = document.querySelector('form')

const invitation = await get(path)
if (invitation.ok) {
  const { expiresAt, inviterName, role, workspaceName } = invitation.data
  const by = inviterName === null ? '' : `${inviterName} invites you: `
  const until = new Date(expiresAt).toLocaleString()
  document.querySelector('#about').textContent =
    `${by}workspace “${workspaceName}”, role ${role}. Valid until ${until}.`
  form.hidden = false
} else {
  say(invitation)
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void submit(event.submitter.value)
})

async function submit(decision) {
  const buttons = form.querySelectorAll('button')
  for (const button of buttons) button.disabled = true
  const reply = await answer(decision)
  for (const button of buttons) button.disabled = false
  say(reply)
  if (reply.ok) form.hidden = true
}

async function answer(decision) {
  const login = await signIn(form)
  if (!login.ok) return login
  const { accessToken } = login.data
  const reply = await post(`${path}/${decision}`, undefined, accessToken)
  // The session was only needed for this reply.
  await post('/api/auth/logout', undefined, accessToken)
  return reply
}
