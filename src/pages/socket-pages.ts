import { asyncApiDocument } from '../core/asyncapi.ts'
import { eventExample, eventInWords, type SocketMessageType, type SocketProtocol } from '../core/socket-protocol.ts'
import type { EventType } from '../core/event.ts'
import { docPage, escape, markup, once, table, type DocPage } from '../http/doc-page.ts'
import { page } from '../http/page.ts'
import { fieldRows } from './schema-words.ts'
import type { Page } from '../http/server.ts'

/** The pages that describe the sockets, from their declarations. */
export function socketPages(protocol: SocketProtocol): Page[] {
  const description = once(() => page('application/json', asyncApiText(protocol)))
  const words = once(() => docPage(socketPage(protocol)))
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
import { SocketClient } from 'crier-client'

const crier = new SocketClient({ url: 'http://localhost:3000', io, token: () => freshAccessToken() })
const channel = crier.channel({ workspaceId, channelId })
channel.subscribe(({ state, pending, isLive }) => render(state.messages, pending, isLive))
await channel.send({ body: 'Hello' })`

const ENVELOPE = [
  ['`seq`', 'integer', 'Number of the event in the workspace, from 1 on without a gap'],
  ['`type`', 'string', 'Name of the event'],
  ['`workspaceId`', 'uuid', 'Where it happened'],
  ['`at`', 'date-time', 'When it happened'],
  ['`data`', 'object', 'What happened'],
]

function socketPage(protocol: SocketProtocol): DocPage {
  const { clientMessages, closingCodes, events, limits, operations, refusals, serverMessages } = protocol
  const callable = operations.filter((op) => op.socket !== undefined).map((op) => op.name)
  const body = `<p>${markup('Live changes, chat, and calls of operations, over socket.io 4 at `/socket.io/`.')}
For programs: <a href="/api/asyncapi.json">asyncapi.json</a>. Over HTTP: <a href="/docs">all operations</a>.</p>
<h2 id="connect">Connect</h2>
<pre>${escape(CONNECT)}</pre>
<p>${markup('The token is an access token or an API key, and goes into `auth`; in the URL it is refused. From the moment that the socket is connected it hears every event of its user’s workspaces that their scopes let them see; a removal or a changed role acts at once. Pages of this server may connect, and those of the origins in `CORS_ORIGINS`. Before an access token expires, send the next one as `auth`.')}</p>
${definitions(refusals)}
<h2 id="messages">What a client may say</h2>
${clientMessages.map(message).join('\n')}
<p>${markup(`Operations that can be called: ${callable.map((name) => `\`${name}\``).join(', ')}.`)}</p>
<h2 id="away">Being away</h2>
<p>${markup('A socket that comes back has missed something. Every event of a workspace has a number: `resume` gives those after the last one seen. Every change of a channel has a number of the channel’s own, without a gap: a client that sees a number which is not the next one, that connects again, or that hears `missed`, asks with `sync`, and ends in exactly the state of one that never left, edits, deletes and reactions included. Too far behind, or ahead of the server, it is given a snapshot, once. Keep what comes live while you ask, and drop what you have. A message that was sent with a `clientId` may be sent again: there is one message.')}</p>
<p>${markup('The package `crier-client` (`packages/client` in the sources) does all of that:')}</p>
<pre>${escape(SDK)}</pre>
<h2 id="server">What the server says beside the events</h2>
${serverMessages.map(message).join('\n')}
<h2 id="events">Events</h2>
<p>${markup('Each has this form, with what is said below as `data`. Values of a status are explained under ')}<a href="/docs/states">states</a>.</p>
${table(['field', 'type', 'meaning'], ENVELOPE)}
<p>${markup('Events that are kept nowhere have no such form: their fields are the whole message.')}</p>
${events.map(eventSection).join('\n')}
<h2 id="limits">Limits</h2>
<ul>${limits.map((limit) => `<li>${markup(limit)}</li>`).join('\n')}</ul>
<h2 id="closing">Closing codes</h2>
<p>${markup('Before the server ends a socket it says `closing { code }`.')}</p>
${definitions(closingCodes)}
`
  return { title: 'Sockets and events', body }
}

function eventSection(event: EventType): string {
  const fields = fieldRows(event.data)
  const words = [event.summary, event.description?.replace(/\.$/, ''), eventInWords(event).replace(/\.$/, '')]
  return `<section id="${escape(event.name)}"><h3><code>${escape(event.name)}</code></h3>
<p>${markup(`${words.filter(Boolean).join('. ')}.`)}</p>
${fields.length === 0 ? '' : table([event.stored === false ? 'field' : 'field of `data`', 'type', 'meaning'], fields)}
<pre>${escape(JSON.stringify(eventExample(event), null, 2))}</pre></section>`
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
