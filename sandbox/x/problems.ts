import { json, type FakeReply } from '../fake.ts'

const PROBLEMS = 'https://api.twitter.com/2/problems/'

/** A problem without a specific type. */
export function problem(status: number, title: string, detail: string): FakeReply {
  return json(status, { title, detail, type: 'about:blank', status })
}

export function invalid(parameter: string, message: string): FakeReply {
  return json(400, {
    errors: [{ parameters: { [parameter]: [] }, message }],
    title: 'Invalid Request',
    detail: 'One or more parameters to your request was invalid.',
    type: `${PROBLEMS}invalid-request`,
  })
}

/** X answers with 200 and a list of errors when a single resource is missing. */
export function notFound(parameter: string, value: string): FakeReply {
  return json(200, {
    errors: [
      {
        value,
        detail: `Could not find ${parameter} with ${parameter}: [${value}].`,
        title: 'Not Found Error',
        resource_type: 'tweet',
        parameter,
        resource_id: value,
        type: `${PROBLEMS}resource-not-found`,
      },
    ],
  })
}

export const NO_CREDITS = json(402, {
  title: 'CreditsDepleted',
  detail: 'Your enrolled account does not have any credits to fulfill this request.',
  type: `${PROBLEMS}credits`,
  status: 402,
})

export const UNAUTHORIZED = problem(401, 'Unauthorized', 'Unauthorized')
export const LOCKED = problem(
  403,
  'Forbidden',
  'To protect our users, this account is temporarily locked. Log in to unlock it.',
)
export const DUPLICATE = problem(403, 'Forbidden', 'You are not allowed to create a Tweet with duplicate content.')
export const NOT_PERMITTED = problem(403, 'Forbidden', 'You are not permitted to perform this action.')
export const NO_REPLY = problem(
  403,
  'Forbidden',
  'You attempted to reply to a Tweet that is deleted or not visible to you.',
)

/** docs.x.com, Media best practices, 2026-10. */
export function tooLong(minutes: number): FakeReply {
  return problem(403, 'Forbidden', `This user is not allowed to post a video longer than ${minutes} minutes.`)
}

export function missingScope(scope: string): FakeReply {
  return json(403, {
    title: 'Forbidden',
    detail: `The token does not have the scope ${scope} that this endpoint requires.`,
    type: `${PROBLEMS}oauth2-permissions`,
    status: 403,
  })
}
