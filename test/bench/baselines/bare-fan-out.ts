/**
 * The upper limits of delivery: a socket requests a number of frames, and everybody in the room gets each one.
 *
 * `node bare-fan-out.ts ws|uws|publish <port> <file>`: socket.io on Node's http and ws, socket.io on uWebSockets.js like
 * Crier, or uWebSockets.js alone. The file contains the frame, `42["chat.change",{…}]`.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Server } from 'socket.io'
import { App, type TemplatedApp } from 'uWebSockets.js'

const [kind, port, file] = process.argv.slice(2)
const frame = readFileSync(String(file), 'utf8')

function serve(io: Server): void {
  const [event, data] = JSON.parse(frame.slice(2)) as [string, unknown]
  io.on('connection', (socket) => {
    void socket.join('room')
    socket.on('publish', (count: number) => {
      for (let left = count; left > 0; left -= 1) io.to('room').emit(event, data)
    })
  })
}

const listen = (app: TemplatedApp) => app.listen('127.0.0.1', Number(port), () => console.log('ready'))

if (kind === 'ws') {
  const server = createServer()
  serve(new Server(server, { serveClient: false }))
  server.listen(Number(port), '127.0.0.1', () => console.log('ready'))
} else if (kind === 'uws') {
  const app = App()
  const io = new Server({ serveClient: false })
  io.attachApp(app, { maxBackpressure: 16 << 20 } as never)
  serve(io)
  listen(app)
} else {
  const app = App()
  app.ws('/*', {
    maxBackpressure: 16 << 20,
    idleTimeout: 0,
    open: (socket) => void socket.subscribe('room'),
    message: (_socket, count) => {
      for (let left = Number(Buffer.from(count).toString()); left > 0; left -= 1) app.publish('room', frame, false)
    },
  })
  listen(app)
}
