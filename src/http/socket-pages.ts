import { asyncApiDocument } from '../core/asyncapi.ts'
import { eventInWords, type SocketMessageType, type SocketProtocol } from '../core/socket-protocol.ts'
import { GUARDED, page } from './page.ts'
import type { Page } from './server.ts'

/** The pages that describe the sockets, from their declarations. */
export function socketPages(protocol: SocketProtocol): Page[] {
  const description = once(() => page('application/json', asyncApiText(protocol)))
  const words = once(() => page('text/html; charset=utf-8', socketPage(protocol), GUARDED))
  return [
    { path: '/api/asyncapi.json', serve: description },
    { path: '/docs/sockets', serve: words },
  ]
}

/** The AsyncAPI description as text. */
export function asyncApiText(protocol: SocketProtocol): string {
  return `${JSON.stringify(asyncApiDocument(protocol), null, 2)}\n`
}

const CONNECT = `import { io } from 'socket.io-client'

const socket = io('http://localhost:3000', { auth: { token }, transports: ['websocket'] })
socket.on('stream.updated', (event) => console.log(event.seq, event.data))
const { status, body } = await socket.emitWithAck('call', {
  operation: 'listMessages',
  path: { workspaceId, channelId },
})`

const SDK = `import { io } from 'socket.io-client'
import { SocketClient } from 'crier/src/socket-client.ts'

const crier = new SocketClient({ url: 'http://localhost:3000', io, token: () => freshAccessToken() })
const channel = crier.channel({ workspaceId, channelId })
channel.subscribe(({ state, pending, isLive }) => render(state.messages, pending, isLive))
await channel.send({ body: 'Hello' })`

function socketPage(protocol: SocketProtocol): string {
  const { clientMessages, closingCodes, events, limits, operations, refusals, serverMessages } = protocol
  const callable = operations.filter((op) => op.socket !== undefined).map((op) => op.name)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sockets of Crier</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
  h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
  code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
  pre { overflow: auto; padding: .75rem; border: 1px solid #8886; border-radius: .25rem; }
  dt { font-weight: 600; }
  dd { margin: 0 0 .75rem 0; }
</style>
</head>
<body>
<h1>Sockets</h1>
<p>${markup('Live changes, chat, and calls of operations, over socket.io 4 at `/socket.io/`.')}
For programs: <a href="/api/asyncapi.json">asyncapi.json</a>. Over HTTP: <a href="/docs">all operations</a>.</p>
<h2 id="connect">Connect</h2>
<pre>${escape(CONNECT)}</pre>
<p>${markup('The token is an access token or an API key, and goes into `auth`; in the URL it is refused. From the moment that the socket is connected it hears every event of its user’s workspaces that their scopes let them see; a removal or a changed role acts at once. Pages may connect from the origins in `CORS_ORIGINS`. Before an access token expires, send the next one as `auth`.')}</p>
${definitions(refusals)}
<h2 id="messages">What a client may say</h2>
${clientMessages.map(message).join('\n')}
<p>${markup(`Operations that can be called: ${callable.map((name) => `\`${name}\``).join(', ')}.`)}</p>
<h2 id="away">Being away</h2>
<p>${markup('A socket that comes back has missed something. Every event of a workspace has a number: `resume` gives those after the last one seen. Every change of a channel has a number of the channel’s own, without a gap: a client that sees a number which is not the next one, that connects again, or that hears `missed`, asks with `sync`, and ends in exactly the state of one that never left, edits, deletes and reactions included. Too far behind, or ahead of the server, it is given a snapshot, once. Keep what comes live while you ask, and drop what you have. A message that was sent with a `clientId` may be sent again: there is one message.')}</p>
<p>The client of this repository does all of that:</p>
<pre>${escape(SDK)}</pre>
<h2 id="server">What the server says beside the events</h2>
${serverMessages.map(message).join('\n')}
<h2 id="events">Events</h2>
<dl>${events.map((event) => `<dt id="${escape(event.name)}"><code>${escape(event.name)}</code></dt><dd>${markup(`${event.summary}. ${eventInWords(event)}`)}</dd>`).join('\n')}</dl>
<h2 id="limits">Limits</h2>
<ul>${limits.map((limit) => `<li>${markup(limit)}</li>`).join('\n')}</ul>
<h2 id="closing">Closing codes</h2>
<p>${markup('Before the server ends a socket it says `closing { code }`.')}</p>
${definitions(closingCodes)}
</body>
</html>
`
}

function message({ ack, description, example, name, summary }: SocketMessageType): string {
  const answer = ack === 'reply' ? ' Acknowledged with `{ status, headers, body }`, as REST would answer.' : ''
  return `<section id="${escape(name)}"><h3><code>${escape(name)}</code></h3>
<p>${markup(`${summary}. ${description}${answer}`)}</p>
<pre>${escape(JSON.stringify(example, null, 2))}</pre></section>`
}

function definitions(rows: Readonly<Record<string, string>>): string {
  const lines = Object.entries(rows).map(
    ([code, text]) => `<dt><code>${escape(code)}</code></dt><dd>${markup(text)}</dd>`,
  )
  return `<dl>${lines.join('\n')}</dl>`
}

function markup(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
