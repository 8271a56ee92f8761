import { language } from './texts.js'

/** The gateway's own element for cards. The number of a card never reaches this page or this server. */

const scripts = new Map()

function load(url) {
  let script = scripts.get(url)
  if (script === undefined) {
    script = new Promise((resolve, reject) => {
      const element = document.createElement('script')
      element.src = url
      element.onload = () => resolve(globalThis.Stripe)
      element.onerror = () => {
        // The next try loads it again.
        scripts.delete(url)
        element.remove()
        reject(new Error(`${url} did not load`))
      }
      document.head.append(element)
    })
    scripts.set(url, script)
  }
  return script
}

const clients = new Map()

async function clientOf({ publicKey, scriptUrl }) {
  const Stripe = await load(scriptUrl)
  const client = clients.get(publicKey) ?? Stripe(publicKey, { locale: language })
  clients.set(publicKey, client)
  return client
}

/**
 * Shows the element. Only cards are allowed by the server, so the payer never leaves the page.
 * @returns functions that resolve to `{ error? }` of the gateway
 */
export async function cardElement({ clientSecret, publicKey, scriptUrl }, place) {
  const stripe = await clientOf({ publicKey, scriptUrl })
  const theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'night' : 'stripe'
  const elements = stripe.elements({ clientSecret, appearance: { theme } })
  const element = elements.create('payment')
  await new Promise((resolve, reject) => {
    element.on('ready', resolve)
    element.on('loaderror', reject)
    element.mount(place)
  })
  return {
    confirmPayment: () => stripe.confirmPayment({ elements, redirect: 'if_required' }),
    confirmSetup: () => stripe.confirmSetup({ elements, redirect: 'if_required' }),
  }
}

/** Lets the payer do what the bank asks for. */
export async function nextAction({ clientSecret, publicKey, scriptUrl }) {
  const stripe = await clientOf({ publicKey, scriptUrl })
  return stripe.handleNextAction({ clientSecret })
}
