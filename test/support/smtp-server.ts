import { createServer, type AddressInfo, type Socket } from 'node:net'

/** A mail that the server accepted. */
export interface Delivery {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
}

/** A small SMTP server (RFC 5321), with PLAIN authentication when a user is given. */
export interface SmtpServer {
  readonly port: number
  readonly deliveries: Delivery[]
  /** Replies that reject the next mails, one each, such as `451 try again`. */
  readonly refusals: string[]
  /** Mails that got no reply, while `holds` was set. */
  readonly held: Delivery[]
  holds: boolean
  close(): Promise<void>
}

export async function startSmtpServer(user?: { name: string; password: string }): Promise<SmtpServer> {
  const deliveries: Delivery[] = []
  const refusals: string[] = []
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket)).on('error', () => socket.destroy())
    const deliver = (mail: Delivery) => {
      ;(smtp.holds ? smtp.held : deliveries).push(mail)
      return !smtp.holds
    }
    converse(socket, { user, refusals, deliver })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const smtp: SmtpServer = {
    port: (server.address() as AddressInfo).port,
    deliveries,
    refusals,
    held: [],
    holds: false,
    close: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return smtp
}

interface Conversation {
  readonly user: { name: string; password: string } | undefined
  readonly refusals: string[]
  /** @returns whether to reply */
  readonly deliver: (mail: Delivery) => boolean
}

function converse(socket: Socket, { user, refusals, deliver }: Conversation): void {
  const say = (line: string) => socket.write(`${line}\r\n`)
  let known = user === undefined
  let from = ''
  let to: string[] = []
  let body: string[] | undefined
  const command = (line: string) => {
    const [verb = '', ...rest] = line.split(' ')
    const argument = rest.join(' ')
    switch (verb.toUpperCase()) {
      case 'EHLO':
        return say(user ? '250-test\r\n250 AUTH PLAIN' : '250 test')
      case 'AUTH': {
        const expected = Buffer.from(`\0${user?.name}\0${user?.password}`).toString('base64')
        known = argument === `PLAIN ${expected}`
        return say(known ? '235 welcome' : '535 wrong')
      }
      case 'MAIL':
        from = /<(.*?)>/.exec(argument)?.[1] ?? ''
        to = []
        return say(known ? '250 ok' : '530 sign in first')
      case 'RCPT':
        to.push(/<(.*?)>/.exec(argument)?.[1] ?? '')
        return say('250 ok')
      case 'DATA':
        body = []
        return say('354 go on')
      case 'QUIT':
        say('221 bye')
        return socket.end()
      default:
        return say(verb.toUpperCase() === 'RSET' || verb.toUpperCase() === 'NOOP' ? '250 ok' : '502 what?')
    }
  }
  let rest = ''
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\r\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (body === undefined) command(line)
      else if (line === '.') {
        const refusal = refusals.shift()
        const isAnswered = refusal !== undefined || deliver({ from, to, raw: body.join('\r\n') })
        body = undefined
        if (isAnswered) say(refusal ?? '250 taken')
      } else body.push(line.startsWith('..') ? line.slice(1) : line)
    }
  })
  say('220 test ESMTP')
}
