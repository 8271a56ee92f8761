/**
 * What the payer's browser loads from the fake: a script with the part of Stripe.js that pages use, and the frame in
 * which it asks for a card. As at Stripe, the number of the card stays in the frame.
 */
export const BROWSER_FILES: Readonly<Record<string, readonly [type: string, content: string]>> = {
  '/js/stripe.js': [
    'text/javascript',
    `(() => {
  const base = new URL(document.currentScript.src).origin
  const ask = (frame, message) => new Promise((resolve) => {
    const channel = new MessageChannel()
    channel.port1.onmessage = ({ data }) => resolve(data)
    frame.contentWindow.postMessage(message, base, [channel.port2])
  })
  const frameFor = (path, title) => {
    const frame = document.createElement('iframe')
    frame.src = base + path
    frame.title = title
    frame.style.cssText = 'border:0;width:100%;height:9rem'
    return frame
  }
  globalThis.Stripe = (key) => {
    /** Shows the question of the bank in a frame that covers the page. */
    const bankAsks = async (clientSecret) => {
      const frame = frameFor('/js/bank.html', 'Bank')
      frame.style.cssText = 'border:0;position:fixed;inset:0;width:100%;height:100%;z-index:1000;background:#fff'
      const place = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
      const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
      place.append(frame)
      await loaded
      const reply = await ask(frame, { key, clientSecret })
      frame.remove()
      return reply
    }
    const confirm = async ({ elements }) => {
      const reply = await ask(elements.frame, { key, clientSecret: elements.clientSecret })
      if (reply.error === undefined && reply.status === 'requires_action') return bankAsks(elements.clientSecret)
      return reply
    }
    return {
      elements: ({ clientSecret }) => {
        const elements = {
          clientSecret,
          create: () => {
            const listeners = {}
            return {
              on: (name, listener) => { listeners[name] = listener },
              mount: (place) => {
                elements.frame = frameFor('/js/card.html', 'Secure payment input frame')
                elements.frame.addEventListener('load', () => listeners.ready?.())
                place.append(elements.frame)
              },
            }
          },
        }
        return elements
      },
      confirmPayment: confirm,
      confirmSetup: confirm,
      handleNextAction: ({ clientSecret }) => bankAsks(clientSecret),
    }
  }
})()
`,
  ],
  '/js/card.html': [
    'text/html; charset=utf-8',
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Card</title>
    <style>
      :root { color-scheme: light dark; font: 16px system-ui, sans-serif }
      input { font: inherit; width: 100%; padding: 0.5rem; box-sizing: border-box }
    </style>
  </head>
  <body>
    <label>Card number <input name="number" inputmode="numeric" autocomplete="cc-number" /></label>
    <p>A sandbox: use a test card such as 4242 4242 4242 4242.</p>
    <script>
      onmessage = async ({ data: { clientSecret, key }, ports: [port] }) => {
        const [id] = clientSecret.split('_secret_')
        const kind = id.startsWith('seti_') ? 'setup_intents' : 'payment_intents'
        const number = document.querySelector('input').value.replaceAll(/\\D/g, '')
        const body = new URLSearchParams({ client_secret: clientSecret, 'payment_method_data[card][number]': number })
        const init = { method: 'POST', headers: { Authorization: 'Bearer ' + key }, body }
        const reply = await (await fetch('/v1/' + kind + '/' + id + '/confirm', init)).json()
        port.postMessage(reply.error ? { error: { message: reply.error.message } } : { status: reply.status })
      }
    </script>
  </body>
</html>
`,
  ],
  '/js/bank.html': [
    'text/html; charset=utf-8',
    `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Bank</title></head>
  <body>
    <h1>Your bank asks: is this you?</h1>
    <button value="true">Confirm</button>
    <button value="false">Refuse</button>
    <script>
      onmessage = ({ data: { clientSecret, key }, ports: [port] }) => {
        for (const button of document.querySelectorAll('button')) {
          button.onclick = async () => {
            const [id] = clientSecret.split('_secret_')
            const kind = id.startsWith('seti_') ? 'setup_intents' : 'payment_intents'
            const body = new URLSearchParams({ client_secret: clientSecret, confirmed: button.value })
            const init = { method: 'POST', headers: { Authorization: 'Bearer ' + key }, body }
            const reply = await (await fetch('/v1/' + kind + '/' + id + '/bank_reply/confirm', init)).json()
            const error = reply.error ?? reply.last_payment_error ?? undefined
            port.postMessage(error ? { error: { message: error.message } } : { status: reply.status })
          }
        }
      }
    </script>
  </body>
</html>
`,
  ],
}
