# packages: python3-libapparmor
import LibAppArmor

record = LibAppArmor.parse_record('type=AVC msg=audit(1.2:3): apparmor="DENIED" operation="open" profile="/bin/x" '
                                  'name="/etc/y" pid=7')
assert record.event == LibAppArmor.AA_RECORD_DENIED and record.name == "/etc/y" and record.pid == 7
LibAppArmor.free_record(record)
