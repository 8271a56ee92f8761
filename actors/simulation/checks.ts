import type { World } from './world.ts'

/** No command is answered later than this after its deadline, on the clock of its node. */
const SLACK_MS = 150

/** What must be true however the run went. @returns what was not */
export function violationsOf(world: World): string[] {
  const found = [...world.store.violations]
  const present = new Map<string, number>()
  for (const [actor, row] of world.store.rows) {
    let epoch = 0
    row.log.forEach((entry, index) => {
      if (entry.seq !== index + 1) found.push(`${actor}: seq ${entry.seq} is at place ${index + 1}`)
      if (entry.epoch < epoch) found.push(`${actor}: seq ${entry.seq} has epoch ${entry.epoch}, after ${epoch}`)
      epoch = Math.max(epoch, entry.epoch)
      if (present.has(entry.op)) found.push(`${entry.op} is there twice`)
      present.set(entry.op, entry.seq)
    })
  }
  for (const operation of world.operations) {
    const { id, result, value, kind, process, deadline, settledAt } = operation
    const seq = present.get(id)
    if (result === undefined) {
      if (!process.crashed) found.push(`${id} was never answered`)
      continue
    }
    if (result === 'acknowledged' && (seq === undefined || seq !== value)) {
      found.push(`${id} was acknowledged as ${String(value)} and is ${seq ?? 'absent'}`)
    }
    if (result === 'acknowledged' && kind !== 'append') found.push(`${id} should have failed`)
    if (result !== 'acknowledged' && result !== 'unknown' && seq !== undefined) {
      found.push(`${id} was answered ${result} and is there as ${seq}`)
    }
    const late = settledAt - deadline
    if (late > SLACK_MS && !world.disturbed.has(process)) found.push(`${id} was answered ${late.toFixed(0)} ms late`)
  }
  return found
}
