/** What the composition and the socket gateway use of the team. */

export { composeTeam } from './compose.ts'
