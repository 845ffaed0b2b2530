# A container without bubblewrap, as far as this machine can imitate one: bash container.sh PYTHON COMMAND …
# PYTHON is where this Python is installed; it is shown to all users, in a home folder that holds nothing else.
set -e
python=$1
shift
for program in $BUBBLEWRAPS; do
    mount --bind /dev/null "$program"
done
case $python in
/root/*)
    hold=$(mktemp -d)
    mount --bind "$python" "$hold"
    mount -t tmpfs -o mode=755 tmpfs /root
    mkdir -p "$python"
    mount --move "$hold" "$python"
    rmdir "$hold"
    ;;
esac
exec "$@"
