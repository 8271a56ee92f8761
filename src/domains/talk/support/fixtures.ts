import { PIXEL } from '../../../../test/support/pixel.ts'
import { times, type Fixtures, type Lists, type Stage } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const lists: Lists<typeof operations> = {
  listTickets: times(ticket),
  listCannedReplies: times(canned),
}

const onTicket = async (stage: Stage) => ({ path: { id: await ticket(stage) } })
const onCanned = async (stage: Stage) => ({ path: { id: await canned(stage) } })

export const fixtures: Fixtures<typeof operations> = {
  getTicket: onTicket,
  replyToTicket: onTicket,
  updateTicket: onTicket,
  addTicketNote: onTicket,
  downloadTicketAttachment: async (stage) => ({ path: { id: await attachment(stage) } }),
  updateCannedReply: onCanned,
  deleteCannedReply: onCanned,
  // The server has no such secret.
  receiveSupportMail: async () => ({ error: 'invalid_credential' }),
}

function ticket(stage: Stage): Promise<string> {
  const message = 'Since this morning, viewers hear nothing.'
  return added(stage, 'POST /api/support/tickets', {
    subject: 'My stream has no sound',
    category: 'streaming',
    message,
  })
}

function canned(stage: Stage): Promise<string> {
  const content = 'Please check that your encoder sends AAC audio.'
  return added(stage, 'POST /api/support/canned-replies', { title: 'No sound', content })
}

async function attachment({ app, caller }: Stage): Promise<string> {
  const file = { name: 'pixel.png', content: PIXEL, type: 'image/png' }
  const reply = await app.send('POST /api/support/attachments', { apiKey: caller.apiKey, file })
  if (reply.status !== 201) throw new Error(`a file for a fixture: ${reply.text}`)
  return reply.body.data._id
}

async function added({ app, caller }: Stage, route: string, body: object): Promise<string> {
  const reply = await app.send(route, { apiKey: caller.apiKey, body })
  if (reply.status !== 201) throw new Error(`${route} for a fixture: ${reply.text}`)
  return reply.body.data._id
}
