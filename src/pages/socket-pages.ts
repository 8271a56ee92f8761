import { asyncApiDocument } from '../core/asyncapi.ts'
import { eventExample, eventInWords, type SocketMessageType, type SocketProtocol } from '../core/socket-protocol.ts'
import type { EventType } from '../core/event.ts'
import { escapeHtml } from '../tools/html.ts'
import { docPage, markup, once, table, type DocPage } from '../http/doc-page.ts'
import { page } from '../http/page.ts'
import { fieldRows } from './schema-words.ts'
import type { Page } from '../http/server.ts'

/** The documentation pages of the sockets, generated from their declarations. */
export function socketPages(protocol: SocketProtocol): Page[] {
  const description = once(() => page('application/json', asyncApiText(protocol)))
  const words = once(() => docPage(socketPage(protocol)))
  return [
    { path: '/api/asyncapi.json', serve: description },
    { path: '/docs/sockets', serve: words },
  ]
}

/** The AsyncAPI document as text. */
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
  ['`seq`', 'integer', 'Sequence number of the event in the workspace, starting at 1, without gaps'],
  ['`type`', 'string', 'Name of the event'],
  ['`workspaceId`', 'uuid', 'Workspace of the event'],
  ['`at`', 'date-time', 'When it happened'],
  ['`data`', 'object', 'What happened'],
]

function socketPage(protocol: SocketProtocol): DocPage {
  const { clientMessages, closingCodes, events, limits, operations, refusals, serverMessages } = protocol
  const callable = operations.filter((op) => op.socket !== undefined).map((op) => op.name)
  const body = `<p>${markup('Live events, chat and calls of operations over socket.io 4 at `/socket.io/`.')}
For programs: <a href="/api/asyncapi.json">asyncapi.json</a>. Over HTTP: <a href="/docs">all operations</a>.</p>
<h2 id="connect">Connect</h2>
<pre>${escapeHtml(CONNECT)}</pre>
<p>${markup('The token is an access token or an API key. Send it in `auth`; a token in the URL is refused. Once connected, the socket receives all events of its user’s workspaces that the user’s scopes allow. When a member is removed or gets another role, this takes effect at once. Pages of this server may connect, and pages of the origins in `CORS_ORIGINS`. Before an access token expires, send the next one with the message `auth`.')}</p>
${definitions(refusals)}
<h2 id="messages">Messages from the client</h2>
${clientMessages.map(message).join('\n')}
<p>${markup(`Operations that can be called: ${callable.map((name) => `\`${name}\``).join(', ')}.`)}</p>
<h2 id="away">Catching up after a disconnect</h2>
<p>${markup('A client that reconnects may have missed events. Every event of a workspace has a sequence number, and `resume` returns the events after the last one received. Every change of a channel has a sequence number of that channel, without gaps. Call `sync` after a reconnect, after a gap in the numbers and after the message `missed`. The client then has the same state as one that was never disconnected, including edits, deletions and reactions. A client that is too far behind, or ahead of the server, gets a snapshot instead. While `sync` runs, keep the changes that arrive live, and drop those that you already have. A message with a `clientId` can safely be sent again: it is stored only once.')}</p>
<p>${markup('The package `crier-client` (`packages/client` in the source code) does all of this:')}</p>
<pre>${escapeHtml(SDK)}</pre>
<h2 id="server">Messages from the server other than events</h2>
${serverMessages.map(message).join('\n')}
<h2 id="events">Events</h2>
<p>${markup('Each event has this form, with the fields below as `data`. For the values of a status, see ')}<a href="/docs/states">states</a>.</p>
${table(['field', 'type', 'meaning'], ENVELOPE)}
<p>${markup('Events that are not stored have another form: their fields are the whole message.')}</p>
${events.map(eventSection).join('\n')}
<h2 id="limits">Limits</h2>
<ul>${limits.map((limit) => `<li>${markup(limit)}</li>`).join('\n')}</ul>
<h2 id="closing">Closing codes</h2>
<p>${markup('Before the server closes a socket, it sends `closing { code }`.')}</p>
${definitions(closingCodes)}
`
  return { title: 'Sockets and events', body }
}

function eventSection(event: EventType): string {
  const fields = fieldRows(event.data)
  const words = [event.summary, event.description?.replace(/\.$/, ''), eventInWords(event).replace(/\.$/, '')]
  return `<section id="${escapeHtml(event.name)}"><h3><code>${escapeHtml(event.name)}</code></h3>
<p>${markup(`${words.filter(Boolean).join('. ')}.`)}</p>
${fields.length === 0 ? '' : table([event.stored === false ? 'field' : 'field of `data`', 'type', 'meaning'], fields)}
<pre>${escapeHtml(JSON.stringify(eventExample(event), null, 2))}</pre></section>`
}

function message({ ack, description, example, name, summary }: SocketMessageType): string {
  const answer = ack === 'reply' ? ' Acknowledged with `{ status, headers, body }`, like the reply of REST.' : ''
  return `<section id="${escapeHtml(name)}"><h3><code>${escapeHtml(name)}</code></h3>
<p>${markup(`${summary}. ${description}${answer}`)}</p>
<pre>${escapeHtml(JSON.stringify(example, null, 2))}</pre></section>`
}

function definitions(rows: Readonly<Record<string, string>>): string {
  const lines = Object.entries(rows).map(
    ([code, text]) => `<dt><code>${escapeHtml(code)}</code></dt><dd>${markup(text)}</dd>`,
  )
  return `<dl>${lines.join('\n')}</dl>`
}
