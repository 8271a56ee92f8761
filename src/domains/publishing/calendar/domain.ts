import { domain } from '../../../domain.ts'

/** Arithmetic of times: local times, the rules of zones, recurrence, queues. Nothing here is stored. */
export const calendar = domain({ name: 'posts' })
