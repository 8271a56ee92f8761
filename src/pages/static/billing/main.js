import { button, field, h, onSubmit, say } from './dom.js'
import { overview } from './overview.js'
import { payment } from './payment.js'
import { plans } from './plans.js'
import { receipts } from './receipts.js'
import { isSignedIn, signIn, signInWithPasskey, signOut, whenEnded } from './session.js'
import { t } from './texts.js'

/** The parts of the page by what follows `#` in its address. */
const VIEWS = { overview, plans, payment, receipts }

const main = document.querySelector('main')
const nav = document.querySelector('nav')
let shown = 0

function viewName() {
  const name = location.hash.slice(1)
  return Object.hasOwn(VIEWS, name) ? name : 'overview'
}

/** Shows the part that the address names. A slower one that was asked for before is dropped. */
async function show({ keepMessage = false } = {}) {
  if (!isSignedIn()) return showSignIn()
  const number = (shown += 1)
  const name = viewName()
  if (!keepMessage) say('')
  drawNavigation(name)
  main.ariaBusy = 'true'
  const again = (message, isBad) => {
    if (message !== undefined) say(message, isBad)
    return show({ keepMessage: message !== undefined })
  }
  const content = await VIEWS[name](again)
  if (number !== shown || !isSignedIn()) return
  const heading = h('h2', { tabIndex: -1 }, t(`view.${name}`))
  main.replaceChildren(heading, ...content.filter((child) => child !== undefined))
  main.ariaBusy = 'false'
  heading.focus()
}

function drawNavigation(current) {
  nav.hidden = false
  nav.ariaLabel = t('title')
  nav.replaceChildren(
    ...Object.keys(VIEWS).map((name) =>
      h('a', { href: `#${name}`, 'aria-current': name === current ? 'page' : undefined }, t(`view.${name}`)),
    ),
  )
}

function showSignIn(message) {
  shown += 1
  nav.hidden = true
  const code = h('div', { hidden: true }, field(t('signIn.code'), { name: 'code', autocomplete: 'one-time-code' }))
  const form = h(
    'form',
    {},
    h('h2', {}, t('signIn.title')),
    h('p.quiet', {}, t('signIn.about')),
    field(t('signIn.email'), { name: 'email', type: 'email', required: true, autocomplete: 'username' }),
    field(t('signIn.password'), {
      name: 'password',
      type: 'password',
      required: true,
      autocomplete: 'current-password',
    }),
    code,
    h('div.actions', {}, h('button.primary', {}, t('signIn.submit')), passkeyButton()),
  )
  onSubmit(form, async () => {
    const { email, password, code: typed } = form.elements
    const reply = await signIn({ email: email.value, password: password.value, code: typed.value.trim() })
    if (reply.ok) return show()
    say(reply.message, true)
    if (reply.needsCode === true) {
      code.hidden = false
      typed.focus()
    }
  })
  main.replaceChildren(form)
  main.ariaBusy = 'false'
  if (message !== undefined) say(message, true)
}

function passkeyButton() {
  if (globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === undefined) return undefined
  return button(t('signIn.passkey'), async () => {
    const reply = await signInWithPasskey()
    if (reply.ok) await show()
    else say(reply.message, true)
  })
}

function drawFrame() {
  document.querySelector('h1').textContent = t('title')
  const leave = button(t('signOut'), async () => {
    await signOut()
    leave.hidden = true
    showSignIn()
    say(t('signedOut'))
  })
  leave.hidden = true
  document.querySelector('header').append(leave)
  new MutationObserver(() => (leave.hidden = nav.hidden)).observe(nav, {
    attributes: true,
    attributeFilter: ['hidden'],
  })
}

drawFrame()
whenEnded(() => showSignIn(t('signIn.ended')))
addEventListener('hashchange', () => void show())
void show()
