import { textWithLink } from '../content.ts'
import { pollMinutes, pollOf, type Poll } from '../polls.ts'
import { checkLength, has, numericLimit, type Check } from './check.ts'
import { linkInText } from './check-text.ts'
import { listOf } from './limits.ts'
import { breach, counted, shown } from './problem.ts'

const POINTER = '/options/poll'

/** Checks the poll of a post, where the platform has polls. */
export function checkPoll(check: Check): void {
  const poll = pollOf(check.content.options)
  // What is no poll is refused by the schema of the options.
  if (poll === undefined || !has(check, 'poll.maxOptions')) return
  checkAnswers(check, poll)
  checkQuestion(check, poll)
  checkDuration(check, poll)
  checkFiles(check)
}

function checkAnswers(check: Check, { options }: Poll): void {
  const actual = options.length
  const pointer = `${POINTER}/options`
  const [least, most] = [numericLimit(check, 'poll.minOptions'), numericLimit(check, 'poll.maxOptions')]
  if (least !== undefined && actual < least.value) {
    const message = `The poll has ${counted(actual, 'answer')}; ${check.title} requires at least ${shown(least.value)}.`
    check.problems.push(breach(least, { actual, unit: 'answers', pointer, message, fix: 'Add an answer.' }))
  }
  if (most !== undefined && actual > most.value) {
    const message = `The poll has ${counted(actual, 'answer')}; ${check.title} allows ${shown(most.value)}.`
    const fix = `Remove ${counted(actual - most.value, 'answer')}.`
    check.problems.push(breach(most, { actual, unit: 'answers', pointer, message, fix }))
  }
  for (const [index, text] of options.entries()) {
    const what = `Answer ${index + 1} of the poll`
    checkLength(check, 'poll.optionMax', { text, pointer: `${pointer}/${index}`, what, fix: 'Shorten the answer.' })
  }
}

/** The question is a field of the poll, or else the text of the post. */
function checkQuestion(check: Check, { question }: Poll): void {
  const { content, limits } = check
  const [text, pointer] =
    question === undefined
      ? [textWithLink({ text: content.text, link: linkInText(limits, content) }), '/text']
      : [question, `${POINTER}/question`]
  checkLength(check, 'poll.questionMax', {
    text,
    pointer,
    what: 'The question of the poll',
    fix: 'Shorten the question.',
  })
}

function checkDuration(check: Check, poll: Poll): void {
  const actual = pollMinutes(poll)
  const pointer = `${POINTER}/durationMinutes`
  const what = `The poll lasts ${counted(actual, 'minute')}; ${check.title}`
  const found = { actual, unit: 'minutes', pointer }
  const [least, most] = [numericLimit(check, 'poll.minMinutes'), numericLimit(check, 'poll.maxMinutes')]
  if (least !== undefined && actual < least.value) {
    const message = `${what} requires at least ${shown(least.value)}.`
    check.problems.push(breach(least, { ...found, message, fix: 'Choose a longer duration.' }))
  }
  if (most !== undefined && actual > most.value) {
    const message = `${what} allows ${shown(most.value)}.`
    check.problems.push(breach(most, { ...found, message, fix: 'Choose a shorter duration.' }))
  }
  const step = numericLimit(check, 'poll.stepMinutes')
  if (step !== undefined && actual % step.value !== 0) {
    const message = `${what} takes multiples of ${shown(step.value)}.`
    check.problems.push(breach(step, { ...found, message, fix: `Choose a multiple of ${shown(step.value)}.` }))
  }
  const durations = listOf(check.limits, 'poll.durations')
  const limit = check.limits.byId.get('poll.durations')
  if (limit === undefined || durations === undefined || durations.includes(String(actual))) return
  const offered = durations.map((minutes) => shown(Number(minutes))).join(' or ')
  const message = `${what} offers ${offered}.`
  check.problems.push(breach(limit, { ...found, message, fix: 'Choose one of these durations.' }))
}

function checkFiles(check: Check): void {
  const limit = numericLimit(check, 'poll.withMedia')
  const actual = check.content.media.length
  if (limit?.value !== 0 || actual === 0) return
  const message = `${check.title} has no files in a post with a poll.`
  const fix = 'Remove the files or the poll.'
  check.problems.push(breach(limit, { actual, unit: 'files', pointer: '/media', message, fix }))
}
