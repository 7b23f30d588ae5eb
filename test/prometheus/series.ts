/** Series that the cases of several alerts set. */
export const ENTERED = 'library_people_entered_total';
export const EXITED = 'library_people_exited_total';
export const HELD = 'library_counter_excess{counter="people_entered"}';
export const LAST_SEEN = 'library_people_last_seen_timestamp_seconds';
export const LAST_SUCCESS = 'library_poll_last_success_timestamp_seconds{stream="people"}';
export const OCCUPANCY = 'library_occupancy_people';
export const OPEN = 'library_open';
export const TODAY = 'library_people_entered_today';
export const USUAL = 'customer:library_people_entered:usual1h';
